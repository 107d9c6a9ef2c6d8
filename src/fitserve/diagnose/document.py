"""A diagnosis as the JSON that others rely on (schema_version 1)."""

from __future__ import annotations

from fitserve.diagnose.finding import Diagnosis, Finding, Fix

SCHEMA_VERSION = 1


def document(diagnosis: Diagnosis) -> dict[str, object]:
    """One document: stage, version, figures, findings with evidence and fixes, earlier starts."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "diagnosis",
        "stage": diagnosis.stage,
        "engine_version": diagnosis.engine_version,
        "figures": diagnosis.figures,
        "ledger": list(diagnosis.ledger),
        "settings": diagnosis.settings,
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "lines": diagnosis.lines,
        "earlier_starts": list(diagnosis.starts),
        "notes": list(diagnosis.notes),
        "checks": [{"name": check.name, "state": check.state, "detail": check.detail} for check in diagnosis.checks],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "cause": finding.cause,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "stage": finding.stage,
        "summary": finding.summary,
        "evidence": [{"line": item.line, "text": item.text} for item in finding.evidence],
        "fixes": [_fix(fix) for fix in finding.fixes],
    }


def _fix(fix: Fix) -> dict[str, object]:
    return {"set": fix.set, "env": fix.env, "why": fix.why, "predicted": fix.predicted}
