"""What was measured beside what was planned, and how long each stage took."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise

from fitserve.observe.log.start import Start

_ROWS = {  # the plan's name: the log's names, the better one first
    "weights_gib": ("weights_gib",),
    "activation_peak_gib": ("activation_peak_gib",),
    "graphs_gib": ("graph_actual_gib", "graph_estimate_gib"),
    "available_kv_gib": ("available_kv_gib",),
    "kv_tokens": ("kv_tokens",),
    "concurrency": ("concurrency",),
}


def beside(figures: Mapping[str, object], planned: Mapping[str, object] | None) -> tuple[dict[str, object], ...]:
    """A row for each figure that was measured: item, measured, planned (None where the plan does not know)."""
    rows = []
    for item, names in _ROWS.items():
        measured = next((figures[name] for name in names if name in figures), None)
        if measured is not None and planned is not None:
            rows.append({"item": item, "measured": measured, "planned": planned.get(item)})
    return tuple(rows)


def stage_seconds(start: Start) -> dict[str, float]:
    """Seconds from each stage's first line to the next one's; empty where lines carry no time."""
    moments = [(stage, moment) for stage, line in start.stage_lines.items() if (moment := _moment(line.time))]
    moments.sort(key=lambda pair: pair[1])
    return {stage: (later - moment).total_seconds() for (stage, moment), (_, later) in pairwise(moments)}


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(f"2000-{text[:14]}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - only differences are used
    except ValueError:
        return None
