"""What differs between vLLM's releases, as gates read in the sources of each minor release from 0.17 to 0.33.

A gate that the release alone does not decide says None there, and the plan takes the wider of the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NEWEST = "0.33.0"
OLDEST = (0, 17)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

Release = tuple[int, int]


def release(version: str | None) -> Release:
    """(major, minor) of a version string; an unknown one is taken for the newest that was read."""
    match = _VERSION.match(version or "")
    return (int(match[1]), int(match[2])) if match else release(NEWEST)


@dataclass(frozen=True)
class EngineRules:
    """The rules of one release. None: the release alone does not decide it."""

    release: Release
    default_utilization: float  # config/cache.py: 0.9 to 0.20, 0.92 from 0.21
    graphs_in_budget: bool  # envs.py VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: on by default from 0.20
    graph_probe: str  # profile_cudagraph_memory's throw-away cache, from 0.18: "none", "capture" sizes or "seqs" blocks
    prefix_caching_hybrid: bool  # engine/arg_utils.py: default for hybrids off to 0.27, on from 0.28
    runner: int  # config/vllm.py: which model runner serves hybrids and experts by default, 2 from 0.29
    dense_runner: int | None  # the same for dense attention models: 2 for a list of them from 0.22, for all from 0.25
    rope_factor: int  # rotary_embedding/mrope.py: copies of the M-RoPE table
    tokens_by_group: bool  # the printed tokens, see plan/kv.py
    block_within_step: bool  # asserts block <= max_num_batched_tokens with prefix caching
    zero_point_experts: bool  # Marlin takes asymmetric W4A16 experts
    graph_state_check: bool  # max_num_seqs <= blocks is an error for full graphs of hybrids; before, sizes were capped
    gdn_warmup: bool  # GDN kernels are tuned before serving
    peak_includes_graphs: bool  # 0.27 and later print activation + graph estimate as "peak activation"
    null_block_in_check: bool  # one block is kept back in the check of one full request


def rules(version: str | None) -> EngineRules:
    """The gates for a version."""
    at = release(version)
    return EngineRules(
        release=at,
        default_utilization=0.92 if at >= (0, 21) else 0.9,
        graphs_in_budget=at >= (0, 20),
        graph_probe="none" if at < (0, 18) else "capture" if at < (0, 26) else "seqs",
        prefix_caching_hybrid=at >= (0, 28),
        runner=2 if at >= (0, 29) else 1,
        dense_runner=1 if at < (0, 22) else 2 if at >= (0, 25) else None,
        rope_factor=4 if at < (0, 32) else 1,
        tokens_by_group=at < (0, 20) or (at == (0, 20) and not _ahead(version)),
        block_within_step=at < (0, 27),
        zero_point_experts=at >= (0, 23),
        graph_state_check=at >= (0, 20),
        gdn_warmup=at >= (0, 19),
        peak_includes_graphs=at >= (0, 27),
        null_block_in_check=at >= (0, 29),
    )


def _ahead(version: str | None) -> bool:
    """A build of the main branch: named after the last release, with what the next one has."""
    return "dev" in (version or "") or "rc" in (version or "")


# First release whose registry has the architecture (model_executor/models/registry.py).
FIRST_RELEASE: dict[str, Release] = {
    "Qwen3_5ForConditionalGeneration": (0, 17),
    "Qwen3_5MoeForConditionalGeneration": (0, 17),
    "Qwen3_5ForCausalLM": (0, 17),
    "Qwen3_5MoeForCausalLM": (0, 17),
    "Qwen3NextForCausalLM": (0, 11),
    "Qwen3VLForConditionalGeneration": (0, 11),
    "Qwen3VLMoeForConditionalGeneration": (0, 11),
}


def too_old(architecture: str, version: str | None) -> Release | None:
    """The first release that knows the architecture, where `version` is before it; None otherwise."""
    first = FIRST_RELEASE.get(architecture)
    return first if first is not None and release(version) < first else None
