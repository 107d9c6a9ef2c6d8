"""The finding of a rule that rests on lines which were looked for."""

from __future__ import annotations

from collections.abc import Sequence

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix, Severity
from fitserve.observe.log.failures import Failure
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage
from fitserve.text import tr


def finding(
    case: Case,
    cause: str,
    stage: Stage,
    seen: Sequence[Hit | Failure],
    fixes: Sequence[Fix | None] = (),
    *,
    severity: Severity = Severity.FATAL,
    confidence: Confidence = Confidence.HIGH,
    figures: tuple[str, ...] = (),
    key: str = "",
    **values: object,
) -> Finding:
    """A finding whose summary is `causes.<key or cause>`; a remark alone never gives more than medium confidence."""
    if all(isinstance(hit, Hit) and hit.level == "NOTE" for hit in seen) and confidence is Confidence.HIGH:
        confidence = Confidence.MEDIUM
    summary = tr(f"causes.{key or cause}", **values)
    kept = tuple(fix for fix in fixes if fix)
    evidence = case.evidence(*seen, figures=figures)
    return Finding(cause, severity, confidence, stage, summary, evidence, kept, _why(key))


def _why(key: str) -> str:
    try:
        return tr(f"causes.{key}_why") if key else ""
    except KeyError:  # the reason of the cause in general holds
        return ""


def early(case: Case, *keys: str) -> Hit | None:
    """The earliest complaint before the service was up: what is thrown at a request later is another matter."""
    found = [hit for key in keys for hit in case.complaints(key) if hit.stage is not Stage.SERVE]
    return min(found, key=lambda hit: hit.line, default=None)


def complained(case: Case, *keys: str) -> Hit | None:
    """The earliest hit that is not mere information: what ended a start was written as more than that."""
    found = [hit for key in keys for hit in case.hits(key) if hit.level not in ("INFO", "DEBUG")]
    return min(found, key=lambda hit: hit.line, default=None)


def first(case: Case, *keys: str) -> Hit | None:
    """The earliest hit of these patterns."""
    found = [hit for key in keys for hit in case.hits(key)[:1]]
    return min(found, key=lambda hit: hit.line, default=None)
