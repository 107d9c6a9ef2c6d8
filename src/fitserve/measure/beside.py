"""Our figures and those of `vllm bench serve` side by side, for the terminal and the report."""

from __future__ import annotations

from fitserve.measure.figures import Figures
from fitserve.measure.vllm_bench import Theirs
from fitserve.measure.words import known
from fitserve.text import tr

_LATENCIES = ("first_token_s", "time_per_token_s", "gap_s", "end_to_end_s")


def beside_head() -> tuple[str, ...]:
    """The columns' names."""
    return tuple(tr(f"measure.beside_{column}") for column in ("figure", "ours", "theirs", "difference"))


def beside_rows(ours: Figures, theirs: Theirs) -> tuple[tuple[str, ...], ...]:
    """A row a figure; latencies in milliseconds, median and 99th percentile."""
    rows = [_row("answered", ours.answered, theirs.answered)]
    for name in _LATENCIES:
        mine, other = getattr(ours, name), getattr(theirs, name)
        for kind in ("median", "p99"):
            left = None if mine is None else (mine.median.value if kind == "median" else mine.quantiles["p99"])
            right = None if other is None else getattr(other, kind)
            rows.append(_row(f"{name}_{kind}", _ms(left), _ms(right)))
    flow = ours.throughput
    rows.append(_row("output_tokens_per_s", flow.output_tokens, theirs.output_tokens_per_s))
    rows.append(_row("prompt_tokens", ours.prompt_tokens, theirs.prompt_tokens))
    return tuple(rows)


def _row(name: str, mine: float | None, other: float | None) -> tuple[str, ...]:
    apart = "–" if mine is None or other is None or not mine else f"{(other / mine - 1) * 100:+.1f} %"
    return tr(f"measure.beside_{name}"), _shown(mine), _shown(other), apart


def _shown(value: float | None) -> str:
    """Counts as they are, measured figures in three digits."""
    return f"{value:,}" if isinstance(value, int) else known(value)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
