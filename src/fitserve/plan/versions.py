"""What differs between vLLM's releases, as gates read in its sources. A gate that was not bisected says None there.

Read in: 0.17.1, 0.19.0, 0.21.0, 0.22.1, 0.27.0, 0.32.0 (CPU build) and 0.33.0. Between two of them that differ the
answer is unknown and the plan takes the wider of the two.
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
    """The rules of one release. None: not known for this release."""

    release: Release
    default_utilization: float  # config/cache.py: 0.9 to 0.20, 0.92 from 0.21
    graphs_in_budget: bool | None  # VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: on by default from 0.21
    graph_probe: str  # throw-away cache of the graph estimate: "none", "capture" sizes or "seqs" blocks
    prefix_caching_hybrid: bool | None  # default for hybrids: off to 0.27, on from 0.28
    runner: int | None  # 1 or 2; which model runner serves the hybrids
    rope_factor: int | None  # copies of the M-RoPE table: 4, later 1
    tokens_by_group: bool  # the printed tokens, see plan/kv.py
    block_within_step: bool | None  # asserts block <= max_num_batched_tokens with prefix caching
    zero_point_experts: bool | None  # Marlin takes asymmetric W4A16 experts
    graph_state_check: bool  # max_num_seqs <= blocks is an error for full graphs of hybrids
    gdn_warmup: bool  # GDN kernels are tuned before serving
    peak_includes_graphs: bool  # 0.27 and later print activation + graph estimate as "peak activation"
    null_block_in_check: bool  # one block is kept back in the check of one full request


def rules(version: str | None) -> EngineRules:
    """The gates for a version."""
    at = release(version)
    return EngineRules(
        release=at,
        default_utilization=0.92 if at >= (0, 21) else 0.9,
        graphs_in_budget=None if at == (0, 20) else at > (0, 20),
        graph_probe="none" if at < (0, 19) else "capture" if at < (0, 26) else "seqs",  # 0.26.1: 256 blocks in a log
        prefix_caching_hybrid=at >= (0, 28),
        runner=1 if at < (0, 28) else 2 if at >= (0, 32) else None,
        rope_factor=4 if at < (0, 31) else 1 if at >= (0, 32) else None,
        tokens_by_group=at < (0, 20),
        block_within_step=True if at < (0, 23) else False if at >= (0, 28) else None,
        zero_point_experts=False if at < (0, 23) else True if at >= (0, 27) else None,
        graph_state_check=at >= (0, 22),
        gdn_warmup=at >= (0, 19),
        peak_includes_graphs=at >= (0, 27),
        null_block_in_check=at >= (0, 28),
    )


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
