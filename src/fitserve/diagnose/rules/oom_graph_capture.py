"""The graphs, or the warm-up after them, do not fit beside the KV cache that is already there.

Sees: a failed allocation in `capture_model` and its like, between «GPU KV cache size» and the end of start-up, or
while the sampler is warmed up.
Why: graphs live partly outside the budget (wholly before 0.20), and the estimate can be too small. The reserve (1 -
utilization) x total must hold them, the context and the communicators.
Disproved by: `profile_cudagraph_memory` above the capture in the traceback (the probe), or a failure before the KV
cache was sized.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import eager, environment, fewer_sequences, lower_utilization, smaller_capture
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._memory import finding, oom
from fitserve.stage import Stage

CAUSE = "oom_graph_capture"
_SHORT = 16  # largest batch of a short list of captures


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None:
        return None
    room = lower_utilization(case, _missing(case)) if _share_is_high(case) else None
    batch = fewer_sequences(case, _sequences(case))
    first = (
        [room, batch] if room and case.number("--gpu-memory-utilization") else [batch, room or lower_utilization(case)]
    )
    shorter = found.stage is Stage.GRAPH_CAPTURE and (case.number("--max-cudagraph-capture-size") or 512) > _SHORT
    capture = smaller_capture(case, _SHORT) if shorter else None
    return finding(case, found, [*first, _estimate(case) or capture or eager(case)])


def _missing(case: Case) -> float | None:
    asked, free = case.figure("asked_gib"), case.figure("free_gib")
    return max(0.0, asked - free) if asked is not None and free is not None else None


def _share_is_high(case: Case) -> bool:
    return case.utilization >= 0.88


def _sequences(case: Case) -> int:
    now = case.number("--max-num-seqs")
    return 256 if now is not None and now > 256 else 64 if now is None or now > 64 else max(1, int(now) // 2)


def _estimate(case: Case) -> Fix | None:
    """In 0.18 and 0.19 the estimate exists but is not applied by default."""
    if case.at_least(0, 18) and case.at_least(0, 20) is False:
        return environment("count_graphs", VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="1")
    return None


RULE = Rule(CAUSE, (see("sampler_oom", "sampler", r"out of memory occurred when warming up sampler"),), judge)
