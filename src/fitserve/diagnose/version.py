"""Since when vLLM knows a flag. Read in the sources of 0.8.5, 0.11, 0.15, 0.17, 0.19, 0.22, 0.27, 0.32 and 0.33."""

from __future__ import annotations

from fitserve.diagnose.case import Case

_SINCE = {
    "--kv-cache-memory-bytes": (0, 11),
    "--max-cudagraph-capture-size": (0, 12),  # before: inside --compilation-config
    "--mm-processor-kwargs": (0, 6),
    "--limit-mm-per-prompt": (0, 4),
    "--language-model-only": (0, 17),
    "--skip-mm-profiling": (0, 10),
    "--mm-encoder-attn-backend": (0, 12),
    "--enable-expert-parallel": (0, 7),
    "--cpu-offload-gb": (0, 5),
    "--kv-cache-dtype": (0, 3),
    "--pipeline-parallel-size": (0, 5),
}


def knows(case: Case, flag: str) -> bool:
    """Whether the engine of this case takes the flag; an engine whose version is unknown is taken for a new one."""
    since = _SINCE.get(flag)
    return since is None or case.at_least(*since) is not False
