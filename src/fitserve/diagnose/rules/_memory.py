"""What the rules about failed allocations share."""

from __future__ import annotations

from collections.abc import Sequence

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix, Severity
from fitserve.diagnose.oom import Oom, find_oom
from fitserve.text import tr

FIGURES = ("weights_gib", "available_kv_gib", "graph_estimate_gib", "probe_blocks", "encoder_budget_tokens")


def oom(case: Case, cause: str) -> Oom | None:
    """The failed allocation of this case, where it belongs to this cause."""
    found = find_oom(case)
    return found if found is not None and found.cause == cause else None


def finding(case: Case, found: Oom, fixes: Sequence[Fix | None]) -> Finding:
    """The finding of a failed allocation, with torch's figures in its summary where they were printed."""
    asked, free = case.figure("asked_gib"), case.figure("free_gib")
    summary = tr(f"causes.{found.cause}")
    if asked is not None and free is not None:
        summary = f"{summary} {tr('causes.asked_and_free', asked=size(asked), free=size(free))}"
    elif asked is not None:
        summary = f"{summary} {tr('causes.asked', asked=size(asked))}"
    return Finding(
        found.cause,
        Severity.FATAL,
        found.confidence,
        found.stage,
        summary,
        case.evidence(found.failure, figures=FIGURES),
        tuple(fix for fix in fixes if fix),
    )


def size(gib: float) -> str:
    """GiB in the unit that reads best."""
    return f"{gib:.2f} GiB" if gib >= 1 else f"{gib * 1024:.0f} MiB" if gib * 1024 >= 1 else f"{gib * 1024**2:.0f} KiB"


def held_by_others(case: Case) -> float | None:
    """GiB of the card that belong to nobody this process knows of, by torch's sentence: total - free - own."""
    total, free = case.figure("total_gib"), case.figure("free_gib")
    own = case.figure("in_use_gib")
    if total is None or free is None or own is None:
        return None
    other = total - free - own
    return other if other > max(1.5, 0.08 * total) else None
