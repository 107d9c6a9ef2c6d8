"""Measured figures in a reader's words: numbers, ratios, verdicts, why a run must not be used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fitserve.measure.figures import Spread
from fitserve.measure.load import Pace
from fitserve.measure.statistics import Estimate
from fitserve.measure.verdict import Verdict
from fitserve.measure.workload import Workload
from fitserve.text import tr


def number(value: float) -> str:
    """Three digits that mean something: `1,234`, `56.7`, `8.90`, `0.0123`."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 or not size else f"{value:.3g}"


def known(value: float | None) -> str:
    """A number, or that it is not known."""
    return tr("measure.unknown") if value is None or value != value else number(value)


def estimate_text(estimate: Estimate | None, scale: float = 1.0) -> str:
    """`12.3 [11.9, 12.8]`; without an interval where there is none."""
    if estimate is None:
        return tr("measure.unknown")
    if estimate.low is None and estimate.high is None:
        return known(estimate.value * scale)
    low, high = (known(None if end is None else end * scale) for end in (estimate.low, estimate.high))
    return f"{known(estimate.value * scale)} [{low}, {high}]"


def ratio_text(ratio: float) -> str:
    """`+10.2 %`, `-3.0 %`; from twice or half on `12.3x`; what is beyond a thousand is not worth its digits."""
    if not 0.001 < ratio < 1000:
        return "<0.001x" if ratio < 1 else ">1000x"
    if ratio >= 2 or ratio <= 0.5:
        return f"{ratio:.3g}x"
    return f"{(ratio - 1) * 100:+.1f} %"


def verdict_text(verdict: Verdict) -> str:
    """What the interval supports, and no more."""
    names: dict[str, Any] = {
        "figure": tr(f"measure.figure_{verdict.figure}"),
        "setting": verdict.setting,
        "base": verdict.base,
    }
    ratio = verdict.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return tr("measure.verdict_unknown", **names)
    names |= {"low": ratio_text(ratio.low), "high": ratio_text(ratio.high)}
    if verdict.call in ("better", "worse"):
        names["ratio"] = ratio_text(ratio.value)
    return tr(f"measure.verdict_{verdict.call}", **names)


def invalid_text(reason: str, lag_s: float, late_s: float | None) -> str:
    """Why a run's figures must not be used."""
    return tr(f"measure.invalid_{reason}", lag=f"{lag_s * 1000:.0f}", late=f"{(late_s or 0.0) * 1000:.0f}")


def says(who: str, what: str) -> str:
    """`4 in flight: …`, with the reader's own colon."""
    return tr("measure.says", who=who, what=what)


def listed(parts: Iterable[str]) -> str:
    """In a row, with the reader's own comma."""
    return tr("measure.comma").join(parts)


def size_text(size: tuple[int, int]) -> str:
    """`448x448`."""
    return f"{size[0]}x{size[1]}"


def pace_text(pace: Pace) -> str:
    """`4 in flight`, `2/s`."""
    if pace.users:
        return tr("measure.row_users", users=pace.users)
    return tr("measure.row_rate", rate=f"{pace.rate:g}")


def work_text(work: Workload) -> str:
    """What is asked, in a line."""
    shown = tr("measure.work_pictures", count=work.pictures) if work.pictures else tr("measure.work_no_pictures")
    exactly, at_most = work.output_tokens, work.max_tokens
    return tr(
        "measure.work",
        conversations=work.conversations,
        pictures=shown,
        sizes=listed(map(size_text, work.sizes)) if work.pictures else "-",
        turns=tr("measure.work_turns", turns=work.turns),
        tokens=tr("measure.work_exactly", tokens=exactly) if exactly else tr("measure.work_at_most", tokens=at_most),
    )


def spread_text(spread: Spread | None, scale: float) -> str:
    """`12.3 [11.9, 13.0] 18.4`: median, its interval, p95."""
    if spread is None:
        return tr("measure.unknown")
    return f"{estimate_text(spread.median, scale)} {number(spread.quantiles['p95'] * scale)}"


def quantity_text(name: str, value: float | None) -> str:
    """A count, or a time that is kept in seconds, as a reader takes it."""
    if value is None:
        return tr("measure.unknown")
    return f"{value * 1000:.1f} ms" if name.endswith("_s") else f"{value:,.0f}"
