"""Ledger rows as intervals, their sum, and the verdict over a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitserve.plan.plan import Basis, LedgerRow, Verdict
from fitserve.text import tr

# Outside the utilization's budget on a GPU, inside the card all the same.
OUTSIDE_BUDGET = ("context",)


@dataclass(frozen=True)
class Interval:
    """Bytes: at least `low`, at most `high`, most likely `expected`."""

    low: int
    expected: int
    high: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def scaled(self, factor: float) -> Interval:
        """Each end times `factor`."""
        return Interval(int(self.low * factor), int(self.expected * factor), int(self.high * factor))


NOTHING = Interval(0, 0, 0)


def point(size: int) -> Interval:
    """An exact size."""
    return Interval(size, size, size)


def largest(intervals: Iterable[Interval]) -> Interval:
    """The peak of passes that follow each other: a maximum, not a sum."""
    passes = list(intervals) or [NOTHING]
    return Interval(max(p.low for p in passes), max(p.expected for p in passes), max(p.high for p in passes))


def exact(item: str, size: int, note: str = "") -> LedgerRow:
    """A row that is known to the byte."""
    return LedgerRow(item, size, size, size, Basis.EXACT, note)


def ranged(item: str, interval: Interval, basis: Basis, note: str = "", *, transient: bool = False) -> LedgerRow:
    """A row that is an interval."""
    return LedgerRow(item, interval.low, interval.expected, interval.high, basis, note, transient)


def unknown(item: str, note: str) -> LedgerRow:
    """A row that nobody knows."""
    return LedgerRow(item, None, None, None, Basis.UNKNOWN, note)


def weights_row(size: int, *, inferred: bool) -> LedgerRow:
    """The weights, unknown where neither header nor config gives them; `inferred`: no header was read."""
    note = "plan.note_weights_inferred" if inferred else "plan.note_weights"
    return exact("weights", size, tr(note)) if size else unknown("weights", tr("plan.weights_unknown"))


def total(rows: Iterable[LedgerRow]) -> Interval:
    """The sum of the lasting rows that are known, without `reserve` (which is what is left)."""
    found = NOTHING
    for row in rows:
        if row.item != "reserve" and not row.transient and row.low is not None:
            found += Interval(row.low, row.expected or 0, row.high or 0)
    return found


def verdict(need: Interval, budget: int) -> Verdict:
    """`fits` holds at the high end of every interval, `tight` only at the low end."""
    if need.high <= budget:
        return Verdict.FITS
    return Verdict.TIGHT if need.low <= budget else Verdict.DOES_NOT_FIT


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The least good of several."""
    order = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)
    return order[max((order.index(item) for item in verdicts), default=0)]
