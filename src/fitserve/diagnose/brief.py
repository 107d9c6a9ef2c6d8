"""A diagnosis in a few facts, for the live state and the run record: the root cause and the first change."""

from __future__ import annotations

from fitserve.diagnose.finding import Diagnosis, Severity


def brief(diagnosis: Diagnosis) -> dict[str, object]:
    """`cause`, `stage`, `confidence`, `summary`, `line`, `text`, `set`, `env`, `why`; empty where nothing was found."""
    if not diagnosis.findings or diagnosis.findings[0].severity is Severity.INFO:
        return {}
    root = diagnosis.findings[0]
    told: dict[str, object] = {"cause": root.cause, "stage": root.stage, "confidence": root.confidence}
    told["summary"] = root.summary
    if root.evidence:
        told |= {"line": root.evidence[0].line, "text": root.evidence[0].text}
    if root.fixes:
        told |= {"set": root.fixes[0].set, "env": root.fixes[0].env, "why": root.fixes[0].why}
    return told
