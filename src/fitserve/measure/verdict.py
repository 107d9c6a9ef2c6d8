"""Whether one setting is better than another: said only where the interval supports it.

A round is one start of each setting with the same pictures and questions, so figures are compared round by round, as
ratios. The chance of error is shared out over all that is judged, the larger part of it to the throughput: a whole
table in which nothing differs is wrong at most once in twenty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fitserve.measure.statistics import LEVEL, Estimate, paired_ratio, rounds_estimate

SHOWN = ("end_to_end_s", "cold_first_token_s")
_NOT_OURS = ("start_s", "first_start_s")  # the load generator's own lag does not touch them
ALIKE = 0.05  # a difference that cannot be larger than this is none to act on


@dataclass(frozen=True)
class Judged:
    """A figure that gets a verdict. `error_share`: its part of the table's chance to be wrong."""

    more_is_better: bool
    error_share: float


JUDGED = {
    "output_tokens_s": Judged(True, 0.6),
    "time_per_token_s": Judged(False, 0.4 / 3),
    "first_token_s": Judged(False, 0.4 / 3),
    "start_s": Judged(False, 0.4 / 3),
}


class Call(StrEnum):
    """What the interval supports."""

    BETTER = "better"
    WORSE = "worse"
    ALIKE = "alike"  # no difference beyond five percent
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Round:
    """One start of one setting. None is unknown; a setting's first start is not `start_s` but `first_start_s`."""

    setting: str
    number: int
    figures: Mapping[str, float | None]
    invalid: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`setting` over `base` for one figure. `ratio` is None where fewer than two rounds have it."""

    setting: str
    base: str
    figure: str
    ratio: Estimate | None
    call: Call


def verdicts(rounds: Sequence[Round], settings: Sequence[str]) -> tuple[Verdict, ...]:
    """Every setting after the first against the first."""
    base, *others = settings
    return tuple(_verdict(rounds, base, other, figure, len(others)) for other in others for figure in JUDGED)


def summary(rounds: Sequence[Round], setting: str) -> dict[str, Estimate | None]:
    """Each figure of a setting over its rounds, the invalid ones too: they are marked, not hidden."""
    names = (*JUDGED, *SHOWN, "first_start_s")
    values = {
        name: [value for _, value in sorted(_by_round(rounds, setting, name, all_rounds=True).items())]
        for name in names
    }
    return {name: rounds_estimate(found) if found else None for name, found in values.items()}


def _verdict(rounds: Sequence[Round], base: str, other: str, figure: str, others: int) -> Verdict:
    mine, theirs = _by_round(rounds, base, figure), _by_round(rounds, other, figure)
    both = sorted(mine.keys() & theirs.keys())
    if len(both) < 2:
        return Verdict(other, base, figure, None, Call.UNDECIDED)
    judged = JUDGED[figure]
    level = 1 - (1 - LEVEL) * judged.error_share / others
    ratio = paired_ratio([mine[number] for number in both], [theirs[number] for number in both], level)
    return Verdict(other, base, figure, ratio, call(ratio, more_is_better=judged.more_is_better))


def call(ratio: Estimate, *, more_is_better: bool) -> Call:
    """What an interval of a ratio supports."""
    if ratio.low is None or ratio.high is None:
        return Call.UNDECIDED
    if ratio.low > 1 or ratio.high < 1:
        return Call.BETTER if (ratio.low > 1) == more_is_better else Call.WORSE
    return Call.ALIKE if ratio.low > 1 - ALIKE and ratio.high < 1 + ALIKE else Call.UNDECIDED


def _by_round(rounds: Sequence[Round], setting: str, figure: str, *, all_rounds: bool = False) -> dict[int, float]:
    """Positive, valid values by the round's number."""
    found = {}
    for one in rounds:
        value = one.figures.get(figure)
        usable = all_rounds or not one.invalid or figure in _NOT_OURS
        if one.setting == setting and usable and value is not None and value > 0:
            found[one.number] = value
    return found
