"""What a service did lately: rates, latencies and cache hits between two looks at its counters.

A histogram tells only how many lay between two edges of its buckets. A percentile is therefore a guess (a straight line
between the edges, as Prometheus draws it), and it carries the edges that it surely lies between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitserve.observe.metrics import Buckets, Metrics

Looks = Sequence[tuple[float, Metrics]]  # seconds, in order


@dataclass(frozen=True)
class Percentile:
    """Seconds. `at_most` is None in the last bucket, which has no upper edge."""

    guess: float
    at_least: float
    at_most: float | None


@dataclass(frozen=True)
class Latency:
    """Of the `count` events in the window."""

    count: int
    p50: Percentile
    p90: Percentile
    p99: Percentile


@dataclass(frozen=True)
class Window:
    """The last `seconds`. None where the engine does not tell, or nothing happened to tell of."""

    seconds: float
    running: int | None
    waiting: int | None
    kv_usage: float | None  # share, now
    prompt_tokens_s: float | None
    generation_tokens_s: float | None
    finished: int | None
    preemptions: int | None
    prefix_hits: float | None  # share of the tokens asked for
    picture_hits: float | None  # share of the pictures asked for
    first_token: Latency | None
    per_token: Latency | None


def window(looks: Looks, seconds: float) -> Window | None:
    """The longest stretch within `seconds` before the last look that no restart interrupts; None without a look."""
    if not looks:
        return None
    (begun, before), (ended, now) = looks[_begin(looks, seconds)], looks[-1]
    span = ended - begun
    grown = {name: value - before.values[name] for name, value in now.values.items() if name in before.values}
    rates = {name: grown[name] / span if span > 0 and name in grown else None for name in _RATED}
    return Window(
        span,
        _whole(now.values.get("running")),
        _whole(now.values.get("waiting")),
        now.values.get("kv_usage"),
        rates["prompt_tokens"],
        rates["generation_tokens"],
        _whole(grown.get("finished")) if span > 0 else None,
        _whole(grown.get("preemptions")) if span > 0 else None,
        _share(grown.get("prefix_hits"), grown.get("prefix_asked")),
        _share(grown.get("picture_hits"), grown.get("picture_asked")),
        latency(before.histograms.get("first_token", ()), now.histograms.get("first_token", ())),
        latency(before.histograms.get("per_token", ()), now.histograms.get("per_token", ())),
    )


_RATED = ("prompt_tokens", "generation_tokens")


def _begin(looks: Looks, seconds: float) -> int:
    """The first look of the window."""
    first = len(looks) - 1
    while first > 0 and looks[-1][0] - looks[first - 1][0] <= seconds:
        if looks[first][1].restarted_since(looks[first - 1][1]):
            break
        first -= 1
    return first


def latency(before: Buckets, now: Buckets) -> Latency | None:
    """Percentiles of what was counted between the two; None where nothing was, or the edges are others."""
    known = dict(before)
    if not now or (before and known.keys() != dict(now).keys()):
        return None
    grown = tuple((edge, count - known.get(edge, 0.0)) for edge, count in now)
    total = grown[-1][1]
    if total < 1:
        return None
    p50, p90, p99 = (percentile(grown, share) for share in (0.50, 0.90, 0.99))
    return Latency(int(total), p50, p90, p99)


def percentile(buckets: Buckets, share: float) -> Percentile:
    """The value that this share of the counted does not exceed."""
    wanted = share * buckets[-1][1]
    low, under = 0.0, 0.0
    for edge, count in buckets:
        if count >= wanted and count > under:
            if edge is None:
                break
            return Percentile(low + (edge - low) * (wanted - under) / (count - under), low, edge)
        low, under = (low if edge is None else edge), count
    return Percentile(low, low, None)


def _share(hits: float | None, asked: float | None) -> float | None:
    return hits / asked if hits is not None and asked else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
