"""Distributions: which share of requests was answered within so many milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fitserve.measure.sample import Sample
from fitserve.report.charts import Chart, Series, lines
from fitserve.text import tr

_POINTS = 400  # more steps than a chart has pixels for

Figure = Callable[[Sample], float | None]
FIGURES: dict[str, Figure] = {
    "first_token_s": lambda sample: sample.first_token_s,
    "time_per_token_s": lambda sample: sample.time_per_token_s,
    "end_to_end_s": lambda sample: sample.end_to_end_s,
}


def distributions(prefix: str, groups: Mapping[str, Sequence[Sample]]) -> tuple[Chart, ...]:
    """One chart a figure, one line a group; a figure that nobody knows has no chart."""
    charts = []
    for name, figure in FIGURES.items():
        series = [Series(group, steps([figure(sample) for sample in samples])) for group, samples in groups.items()]
        if any(one.points for one in series):
            title = tr(f"report.chart_{name}")
            labels = (tr("report.milliseconds"), tr("report.share"))
            charts.append(lines(f"{prefix}-{name}", title, labels, series, top=1.0))
    return tuple(charts)


def steps(values: Sequence[float | None]) -> tuple[tuple[float, float], ...]:
    """The empirical distribution in milliseconds as corners of its steps."""
    known = sorted(value * 1000 for value in values if value is not None)
    if not known:
        return ()
    every = max(1, len(known) // _POINTS)
    points, before = [(known[0], 0.0)], 0.0
    for number, value in enumerate(known, 1):
        if number % every == 0 or number == len(known):
            points += [(value, before), (value, number / len(known))]
            before = number / len(known)
    return tuple(points)
