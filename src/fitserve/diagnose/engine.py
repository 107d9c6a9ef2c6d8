"""From a reading to a diagnosis: every rule judges, consequences give way to causes, the root comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from fitserve.diagnose import unknown
from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Diagnosis, Finding, Fix, Severity
from fitserve.diagnose.ledger import beside, stage_seconds
from fitserve.diagnose.predict import NoPredictor, Predictor
from fitserve.diagnose.rule import SHARED, Rule
from fitserve.diagnose.rules import load
from fitserve.observe.log.match import Pattern
from fitserve.observe.log.read import LogReading
from fitserve.observe.log.start import Start
from fitserve.stage import Stage
from fitserve.text import tr

FIXES = 3
_NAMED = ("version", "model")  # have places of their own in the document
_SEVERITY = {Severity.FATAL: 0, Severity.WARN: 1, Severity.INFO: 2}
_CONFIDENCE = {Confidence.HIGH: 0, Confidence.MEDIUM: 0, Confidence.LOW: 1}


@dataclass(frozen=True)
class Stated:
    """What the person says beside the log."""

    settings: dict[str, object] = field(default_factory=dict)
    gpus: int | None = None
    gpu_gib: float | None = None
    model: str = ""
    cpu: bool = False


@cache
def rules() -> tuple[Rule, ...]:
    """The rules in force."""
    return load()


def watched() -> tuple[Pattern, ...]:
    """Every pattern that a reader must look for."""
    return (*SHARED, *unknown.SEES, *(item for rule in rules() for item in rule.sees))


def diagnose(reading: LogReading, stated: Stated | None = None, predictor: Predictor | None = None) -> Diagnosis:
    """Judge a log that was read with the patterns of `watched()`."""
    stated = stated or Stated()
    start, before, notes = _chosen(reading)
    case = Case(start, before, stated.settings, stated.gpus, stated.gpu_gib, stated.model, stated.cpu)
    findings = _ordered(_causes(judged(case)))
    if not any(finding.severity is Severity.FATAL for finding in findings):
        told = frozenset(item.line for finding in findings for item in finding.evidence)
        unnamed = unknown.judge(case, told)
        findings = _ordered([*findings, unnamed] if unnamed else findings)
    findings = _at_peace(findings)
    predictor = predictor or NoPredictor()
    weighed = tuple(_weighed(case, finding, predictor) for finding in findings)
    return Diagnosis(
        stage=_stage(weighed, start),
        engine_version=start.version,
        figures=_figures(start),
        findings=weighed,
        settings=case.settings,
        lines=reading.lines,
        starts=_starts(reading),
        notes=notes,
        ledger=beside(start.figures, predictor.planned(case)),
    )


def _figures(start: Start) -> dict[str, object]:
    """What the log printed, and the seconds of its stages."""
    figures: dict[str, object] = {name: value for name, value in start.figures.items() if name not in _NAMED}
    seconds = stage_seconds(start)
    return {**figures, "stage_seconds": seconds} if seconds else figures


def judged(case: Case) -> list[Finding]:
    """What each rule says, in no order."""
    found = ((rule, rule.judge(case)) for rule in rules())
    return [_heeded(case, rule, finding) for rule, finding in found if finding is not None]


def _heeded(case: Case, rule: Rule, finding: Finding) -> Finding:
    """What rests on lines of information alone is a remark, unless the rule is made to read them."""
    levels = {case.levels.get(item.line, "") for item in finding.evidence}
    alone = bool(levels) and levels <= {"INFO", "DEBUG"}
    return replace(finding, severity=Severity.INFO) if alone and not rule.informed else finding


def _chosen(reading: LogReading) -> tuple[Start, Start | None, tuple[str, ...]]:
    """The last start; the one before it where the last has only begun and that one failed."""
    last, before = reading.start, reading.before
    begun = not last.failures and not last.notes and (last.stage is None or last.stage.before(Stage.PROFILE))
    if before is not None and begun and before.failure_count:
        return before, None, (tr("doctor.last_start_begun", line=last.first_line),)
    return last, before, ()


def _causes(findings: list[Finding]) -> list[Finding]:
    """Leave out what is only the consequence of another finding."""
    present = {finding.cause for finding in findings}
    explained = {cause for rule in rules() if rule.cause in present for cause in rule.explains}
    return [finding for finding in findings if finding.cause not in explained]


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda item: (_SEVERITY[item.severity], _CONFIDENCE[item.confidence], item.first_line))


def _at_peace(findings: list[Finding]) -> list[Finding]:
    """No later finding changes a flag against an earlier one, and none has more fixes than are read."""
    decided: dict[str, object] = {}
    out = []
    for finding in findings:
        fixes = [
            fix
            for fix in _fitting(finding.fixes)
            if all(decided.get(flag, value) == value for flag, value in fix.set.items())
        ]
        fixes = fixes[:FIXES]
        for fix in fixes:
            for flag, value in fix.set.items():
                decided.setdefault(flag, value)
        out.append(replace(finding, fixes=tuple(fixes)))
    return out


def _weighed(case: Case, finding: Finding, predictor: Predictor) -> Finding:
    return replace(finding, fixes=_fitting([_predicted(case, fix, predictor) for fix in finding.fixes]))


def _fitting(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """What the plan or the log's figures say won't do is left out where something else will."""
    every = tuple(fixes)
    verdicts = {_fits(fix) for fix in every}
    return tuple(fix for fix in every if _fits(fix) is not False) if True in verdicts else every


def _fits(fix: Fix) -> object:
    """The verdict on a fix, None where nothing was said."""
    return fix.predicted.get("fits") if fix.predicted else None


def _predicted(case: Case, fix: Fix, predictor: Predictor) -> Fix:
    """The plan's word where it has one, else what the log's figures gave."""
    result = predictor.predict(case, fix) if fix.set else None
    if result is None:
        return fix
    return replace(fix, predicted=result, why=fix.why.removesuffix(tr("fixes.not_predicted")).rstrip())


def _stage(findings: tuple[Finding, ...], start: Start) -> Stage | None:
    telling = next((finding for finding in findings if finding.severity is not Severity.INFO), None)
    return telling.stage if telling else findings[0].stage if findings else start.stage


def _starts(reading: LogReading) -> tuple[dict[str, object], ...]:
    """The earlier starts of a file, oldest first."""
    return tuple(
        {
            "first_line": start.first_line,
            "last_line": start.last_line,
            "engine_version": start.version,
            "stage": start.stage,
            "failed": start.failed,
        }
        for start in reading.earlier
    )
