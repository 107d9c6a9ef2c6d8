"""Somebody else holds the card's memory.

Sees: «Free memory on device … is less than desired GPU memory utilization», «Error in memory profiling» (memory that
came free meanwhile), or a failed allocation in which total - free - own is large; as a remark, memory in use before
the start.
Why: another process, often an engine whose workers outlived it, or the desktop; WSL hides who it is. A share so near
1 that the context alone does not fit beside it looks the same.
Disproved by: free memory at the start within the context's size (0.5 to 1 GiB) of the total.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import HEADROOM_GIB, set_utilization, step
from fitserve.diagnose.oom import find_oom
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._memory import held_by_others
from fitserve.diagnose.rules._plain import complained, finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "gpu_memory_held"
_USED = re.compile(r"(\d{1,7}(?:\.\d+)?) ?(MiB|GiB|MB|GB) (?:is |are |was |were )?(?:used|in use|held|taken|occupied)")


def judge(case: Case) -> Finding | None:
    seen = complained(case, "free_below_share", "profiling_freed")
    if seen is not None:
        figures = ("free_at_start_gib",)
        stage = Stage.PROFILE if "memory profiling" in seen.text else Stage.CONFIG
        return finding(case, CAUSE, stage, [seen], _fixes(case), figures=figures)
    oom = find_oom(case)
    if oom is None or oom.stage is Stage.SERVE:
        return None
    if oom.cause == CAUSE or held_by_others(case):
        return finding(case, CAUSE, oom.stage, [oom.failure], [step("free_card")], confidence=Confidence.MEDIUM)
    notes = [hit for hit in case.noted("note_held") if _much(hit)]
    if notes:
        return finding(
            case, CAUSE, oom.stage, [oom.failure, notes[0]], [step("free_card")], confidence=Confidence.MEDIUM
        )
    return None


def _much(hit: Hit) -> bool:
    """More than 2 GiB in use before the start."""
    sizes = [float(number) / (1024 if unit[0] == "M" else 1) for number, unit in _USED.findall(hit.text)]
    return any(size > 2 for size in sizes) and not re.search(r"after|growth|over time", hit.text)


def _fixes(case: Case) -> list[Fix | None]:
    free, total = case.figure("free_at_start_gib"), case.figure("total_gib")
    if free is None or total is None:
        return [step("wait_for_memory"), step("free_card")]
    share = int((free - HEADROOM_GIB) / total * 1000) / 1000
    if total - free < 1.2:  # only the context: the share is too near 1
        return [set_utilization(case, share, "share_below_free")]
    return [step("free_card"), set_utilization(case, share, "share_beside_other")]


RULE = Rule(
    CAUSE,
    (
        see(
            "free_below_share",
            "desired",
            r"Free memory on device .{0,80} on startup is less than desired GPU memory",
        ),
        see("profiling_freed", "profiling", r"Error in memory profiling\. Initial free memory"),
        remark("note_held", "used use held taken occupied", _USED.pattern),
    ),
    judge,
    explains=frozenset(
        {
            "oom_weight_load",
            "oom_profile_activation",
            "oom_mm_encoder_profile",
            "oom_graph_probe",
            "no_kv_memory",
            "oom_graph_capture",
        }
    ),
)
