"""A load's figures as one row of a table, for the terminal and the report alike."""

from __future__ import annotations

from fitserve.measure.figures import Figures
from fitserve.measure.load import Pace
from fitserve.measure.words import known, number, pace_text, spread_text
from fitserve.text import tr

_COLUMNS = ("load", "answered", "first", "token", "gap", "whole", "output", "text", "image", "good")


def figure_head() -> tuple[str, ...]:
    """The columns' names; the last is goodput."""
    return tuple(tr(f"measure.col_{column}") for column in _COLUMNS)


def figure_row(pace: Pace, found: Figures, no_bounds: str) -> tuple[str, ...]:
    """The cells under `figure_head`; `no_bounds` stands for goodput where no bounds were given."""
    flow = found.throughput
    return (
        pace_text(pace),
        f"{found.answered}/{found.requests}",
        spread_text(found.first_token_s, 1000),
        spread_text(found.time_per_token_s, 1000),
        tr("measure.unknown") if found.gap_s is None else number(found.gap_s.quantiles["p99"] * 1000),
        spread_text(found.end_to_end_s, 1),
        known(flow.output_tokens),
        known(flow.text_tokens),
        known(flow.image_tokens),
        f"{found.good.share.value:.0%}" if found.good else no_bounds,
    )
