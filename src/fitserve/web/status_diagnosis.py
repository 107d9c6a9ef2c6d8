"""Why the engine is down, for the page: the doctor's first finding, the engine's own line, and what would cure it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitserve.cli.shown import plain
from fitserve.run.live import Reason, State
from fitserve.run.view import View
from fitserve.text import current_language, in_language, tr

if TYPE_CHECKING:
    from fitserve.diagnose.finding import Diagnosis, Finding, Fix

_LONGEST = 600  # characters of a line


class Diagnoses:
    """The diagnoses of deployments, each made once for a moment of its life and a language."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, Diagnosis]] = {}

    def of(self, view: View, language: str) -> Diagnosis | None:
        """None where nothing is wrong. Reads the whole log: not for the event loop."""
        live = view.live
        if live is None or not is_down(view):
            return None
        key = (live.name, language)
        serial, diagnosis = self._known.get(key, (-1, None))
        if diagnosis is None or serial != live.serial:
            from fitserve.cli.doctor_service import judged  # only now: a page whose engine runs needs no rules
            from fitserve.diagnose.engine import Stated

            with in_language(language):
                diagnosis = judged(view, Stated())
            self._known[key] = (live.serial, diagnosis)
        return diagnosis


def is_down(view: View) -> bool:
    """Whether there is something to explain: a service that was stopped by request has nothing wrong with it."""
    if view.live is None or view.state is State.ANSWERING:
        return False
    if view.state is State.STARTING:
        return view.live.failures > 0
    return view.state is not State.STOPPED or view.live.reason not in (Reason.NONE, Reason.ASKED)


def document(diagnosis: Diagnosis) -> dict[str, object]:
    """`/api/diagnosis`, in the language in force. `finding` is null where no cause was found."""
    first = diagnosis.findings[0] if diagnosis.findings else None
    return {
        "kind": "page_diagnosis",
        "language": current_language(),
        "stage": diagnosis.stage,
        "finding": _finding(first) if first else None,
        "more": len(diagnosis.findings[1:]),
    }


def _finding(finding: Finding) -> dict[str, object]:
    from fitserve.cli.doctor_words import why_text

    return {
        "cause": finding.cause,
        "severity": finding.severity,
        "severity_text": tr(f"doctor.severity_{finding.severity}"),
        "confidence_text": tr(f"doctor.confidence_{finding.confidence}"),
        "summary": finding.summary,
        "why": finding.why or why_text(finding.cause),
        "evidence": [{"line": one.line, "text": plain(one.text)[:_LONGEST]} for one in finding.evidence],
        "fixes": [_fix(number, fix) for number, fix in enumerate(finding.fixes)],
    }


def _fix(number: int, fix: Fix) -> dict[str, object]:
    """`number` counts from 0; `change` is empty where a person has to act."""
    from fitserve.cli.doctor_words import change_text, predicted_text

    return {
        "number": number,
        "change": change_text(fix),
        "why": fix.why,
        "predicted": predicted_text(fix.predicted),
    }
