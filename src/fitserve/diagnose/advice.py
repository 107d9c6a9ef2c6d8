"""What `up` may change by itself after a start that failed: once for memory, and on the way from graphs to eager."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from fitserve.diagnose.finding import Diagnosis, Finding, Fix, Severity
from fitserve.stage import Stage
from fitserve.text import tr

MEMORY = frozenset(
    {
        "oom_weight_load",
        "oom_profile_activation",
        "oom_mm_encoder_profile",
        "oom_graph_probe",
        "oom_graph_capture",
        "oom_first_request_jit",
        "oom_runtime",
        "no_kv_memory",
        "kv_below_max_len",
        "mamba_blocks_below_seqs",
    }
)
_GRAPHS = frozenset({"oom_graph_probe", "oom_graph_capture"})
_FEW_GRAPHS = 8  # the largest batch that is still captured: what one person, or a few, send at once
_CAPTURE, _EAGER = "--max-cudagraph-capture-size", "--enforce-eager"


class Way(StrEnum):
    """What a change is for. Each is gone at most once, so that a start that keeps failing comes to its end."""

    MEMORY = "memory"
    CAPTURE = "capture"
    EAGER = "eager"


@dataclass(frozen=True)
class Change:
    """A change to start again with, and the finding that calls for it."""

    way: Way
    fix: Fix
    finding: Finding


def changes(diagnosis: Diagnosis, gone: Collection[Way], execution: str = "auto") -> list[Change]:
    """What may be tried next, the least loss first; empty where another start would fail alike.

    `execution` is what the person asked for: only `auto` may end in eager mode, which stays the last resort.
    """
    root = diagnosis.findings[0] if diagnosis.findings else None
    if root is None or root.severity is not Severity.FATAL:
        return []
    found = [(Way.MEMORY, memory_fix(diagnosis))]
    if execution != "eager" and (_while_capturing(root) or _eager_cures(root)):
        found.append((Way.CAPTURE, _fewer_graphs(root, diagnosis) if _while_capturing(root) else None))
        found.append((Way.EAGER, Fix({_EAGER: True}, why=tr("fixes.eager")) if execution == "auto" else None))
    kept = [Change(way, fix, root) for way, fix in found if fix is not None and way not in gone]
    return [change for change in kept if change.way is Way.EAGER or _EAGER not in change.fix.set]


def memory_fix(diagnosis: Diagnosis) -> Fix | None:
    """The fix with the least loss whose predicted ledger fits; None where memory is not the cause or nothing fits.

    Eager mode comes last, whatever its place in the list.
    """
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is None or first.severity is not Severity.FATAL or first.cause not in MEMORY:
        return None
    fitting = [fix for fix in first.fixes if fix.set and (fix.predicted or {}).get("fits") is True]
    return min(fitting, key=lambda fix: _EAGER in fix.set, default=None)


def _while_capturing(root: Finding) -> bool:
    return root.stage is Stage.GRAPH_CAPTURE or root.cause in _GRAPHS


def _eager_cures(root: Finding) -> bool:
    return any(fix.set.get(_EAGER) is True for fix in root.fixes)


def _fewer_graphs(root: Finding, diagnosis: Diagnosis) -> Fix | None:
    """The finding's own smaller list, else ours; None where the list is that small already."""
    own = next((fix for fix in root.fixes if _CAPTURE in fix.set or "--compilation-config" in fix.set), None)
    if own is not None:
        return own
    now = diagnosis.settings.get(_CAPTURE)
    if isinstance(now, int) and now <= _FEW_GRAPHS:
        return None
    return Fix({_CAPTURE: _FEW_GRAPHS}, why=tr("fixes.smaller_capture", new=_FEW_GRAPHS))
