"""Figures as they are read on the screen of `watch`."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from fitserve.chat.clean import strip_control
from fitserve.observe.trend import Direction, Trend
from fitserve.observe.windows import Latency, Percentile
from fitserve.text import tr
from fitserve.text.catalog import current_language, sentences
from fitserve.units import format_bytes, format_gib

Facts = list[tuple[str, Text]]  # label and value


def grid(facts: Facts) -> Table:
    """Label and value, line by line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in facts:
        table.add_row(label, value)
    return table


def line(facts: Facts) -> Text:
    """Label and value, one after the other."""
    return Text(" · ").join(Text.assemble((label + " ", "dim"), value) for label, value in facts)


def unknown() -> Text:
    """For what nobody tells."""
    return Text(tr("watch.unknown"), style="dim")


def gib(size_bytes: int) -> Text:
    """GiB with the unit."""
    return Text(f"{format_gib(size_bytes)} GiB")


def degrees(value: int | None, hot: bool | None) -> Text:
    """Red at the point where the driver slows the card down."""
    return unknown() if value is None else Text(f"{value} °C", style="red" if hot else "")


def reason(name: str) -> str:
    """Why a card's clocks are held back; a reason newer than the texts by its number."""
    return sentences(current_language(), "watch").get(f"reason_{name}", strip_control(name))


def span(seconds: float) -> str:
    """A stretch of time: 45 s, 12 min, 3.2 h, 8.0 d."""
    for unit, name, digits in ((86400, "d", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= unit:
            return f"{seconds / unit:.{digits}f} {name}"
    return f"{seconds:.0f} s"


def duration(seconds: float) -> str:
    """A latency: 8.2 ms, 42 ms, 1.3 s."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    digits = 1 if 0 < seconds < 0.01 else 0
    return f"{seconds * 1000:.{digits}f} ms"


def growth(trend: Trend) -> Text:
    """What can be said of a slope, with how sure."""
    over = span(trend.span_s)
    if trend.direction is Direction.UNKNOWN or trend.per_hour is None or trend.high is None or trend.margin is None:
        return Text(tr("watch.growth_short" if trend.per_hour is None else "watch.growth_restless", span=over), "dim")
    figures = {"slope": trend.per_hour, "margin": trend.margin, "high": trend.high}
    sizes = {name: format_bytes(round(size)) for name, size in figures.items()}
    return Text(
        tr(f"watch.growth_{trend.direction.value}", span=over, **sizes),
        style="red" if trend.direction is Direction.GROWING else "",
    )


def latency(told: Latency | None) -> Text:
    """Three percentiles, each with the edges that it lies between."""
    if told is None:
        return Text(tr("watch.nothing_yet"), style="dim")
    percentiles = {name: _percentile(getattr(told, name)) for name in ("p50", "p90", "p99")}
    return Text(tr("watch.latency", count=told.count, **percentiles))


def _percentile(value: Percentile) -> str:
    if value.at_most is None:
        return tr("watch.guess_open", low=duration(value.at_least))
    low, high = duration(value.at_least), duration(value.at_most)
    return tr("watch.guess", guess=duration(value.guess), low=low, high=high)


def share(value: float | None) -> str:
    """Per cent, or a dash where nothing was asked for."""
    return "–" if value is None else f"{100 * value:.0f} %"
