"""How often the doctor is right: stage, first finding, and a cure of the case's own among the first two fixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cases import Labelled

from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.finding import Diagnosis
from fitserve.observe.log.read import read_lines


@dataclass
class Tally:
    """Counts of one group of cases."""

    cases: int = 0
    stage: int = 0
    cause: int = 0
    curable: int = 0  # cases whose cure is a flag or a variable
    cure: int = 0
    missed: list[str] = field(default_factory=list)

    def add(self, case: Labelled, diagnosis: Diagnosis) -> None:
        """Count one case."""
        first = diagnosis.findings[0] if diagnosis.findings else None
        right_stage = diagnosis.stage == case.stage
        right_cause = first is not None and first.cause == case.cause
        self.cases += 1
        self.stage += right_stage
        self.cause += right_cause
        if case.cure["set"] or case.cure["env"]:
            self.curable += 1
            self.cure += right_cause and cured(case, diagnosis)
        if not (right_stage and right_cause):
            said = [finding.cause for finding in diagnosis.findings]
            self.missed.append(f"{case.name}: {case.cause} at {case.stage}, said {said} at {diagnosis.stage}")


def judged(case: Labelled) -> Diagnosis:
    """The doctor's word on one case, with the flags and cards that the report names."""
    reading = read_lines(case.log, watched())
    return diagnose(reading, Stated(case.flags, case.cards, case.card_gib, case.model))


def cured(case: Labelled, diagnosis: Diagnosis) -> bool:
    """Whether one of the first two fixes changes a flag or variable that cured the case, in the same direction."""
    for fix in diagnosis.findings[0].fixes[:2]:
        if set(fix.env) & set(case.cure["env"]):
            return True
        if moved(case, fix.set):
            return True
    return False


def moved(case: Labelled, change: Mapping[str, object]) -> bool:
    """Whether a change moves one of the flags that cured the case, in the same direction."""
    shared = set(change) & set(case.cure["set"])
    return any(_same_way(case.flags.get(flag), change[flag], case.cure["set"][flag]) for flag in shared)


def _same_way(old: object, ours: object, theirs: object) -> bool:
    """Both take the flag away, both give it, or both move a number the same way."""
    if ours is None or theirs is None:
        return ours is theirs
    numbers = [
        value for value in (old, ours, theirs) if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if len(numbers) == 3:
        return (numbers[1] > numbers[0]) == (numbers[2] > numbers[0])
    return True


def tallied(cases: Iterable[Labelled]) -> dict[str, Tally]:
    """Tallies by cause, and over all under ""."""
    out: dict[str, Tally] = {"": Tally()}
    for case in cases:
        diagnosis = judged(case)
        out[""].add(case, diagnosis)
        out.setdefault(case.cause, Tally()).add(case, diagnosis)
    return out
