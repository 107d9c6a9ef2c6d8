"""From samples to figures: the steady state told apart, latencies with intervals, throughput, goodput, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from fitserve.measure.load import Pace
from fitserve.measure.sample import Sample
from fitserve.measure.statistics import Estimate, goodput, quantile, quantile_estimate, share_estimate

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_STEADY_SHARE = 0.2  # of the whole, at least
_STEADY_REQUESTS = 5


@dataclass(frozen=True)
class Window:
    """Seconds of the load's clock between which it was as asked."""

    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Bounds:
    """What counts as good. Seconds; None is no bound."""

    first_token_s: float | None = None
    time_per_token_s: float | None = None
    end_to_end_s: float | None = None

    def given(self) -> bool:
        """Whether there is any."""
        return any(bound is not None for bound in asdict(self).values())


@dataclass(frozen=True)
class Spread:
    """A latency over requests. `median` with its interval; the far quantiles as they are."""

    median: Estimate
    mean: float
    quantiles: dict[str, float]
    highest: float


@dataclass(frozen=True)
class Throughput:
    """Per second. None where tokens were not counted, or pictures' tokens not told apart."""

    requests: float
    output_tokens: float | None
    text_tokens: float | None
    image_tokens: float | None
    pictures: float


@dataclass(frozen=True)
class Good:
    """Goodput: how many of the requests kept the bounds, as a share with its interval and per second."""

    bounds: Bounds
    share: Estimate
    requests_per_s: float


@dataclass(frozen=True)
class Failure:
    """Errors of one kind; `evidence` is the first one's own line."""

    kind: str
    count: int
    evidence: str


@dataclass(frozen=True)
class Figures:
    """What a load showed. `steady` is None where it was too short to tell the ramp from the rest: then all counts."""

    requests: int
    answered: int
    steady: Window | None
    in_window: int
    first_token_s: Spread | None
    time_per_token_s: Spread | None
    gap_s: Spread | None
    end_to_end_s: Spread | None
    throughput: Throughput
    good: Good | None
    failures: tuple[Failure, ...]
    prompt_tokens: int | None  # sums over all answered
    image_tokens: int | None
    output_tokens: int | None
    late_s: float | None  # open loop: how late the generator sent, at the 99th percentile


def figures(samples: Sequence[Sample], pace: Pace, bounds: Bounds | None = None) -> Figures:
    """All figures of one load."""
    answered = [sample for sample in samples if sample.ok]
    steady = steady_window(samples, pace)
    window = steady or _whole(samples)
    inside = [sample for sample in answered if window.start_s <= sample.sent_s <= window.end_s]
    return Figures(
        requests=len(samples),
        answered=len(answered),
        steady=steady,
        in_window=len(inside),
        first_token_s=spread(sample.first_token_s for sample in inside),
        time_per_token_s=spread(sample.time_per_token_s for sample in inside),
        gap_s=spread(gap for sample in inside for gap in sample.gaps_s),
        end_to_end_s=spread(sample.end_to_end_s for sample in inside),
        throughput=throughput(answered, window),
        good=_good(inside, samples, bounds, window) if bounds and bounds.given() else None,
        failures=_failures(samples),
        prompt_tokens=_sum(answered, lambda sample: sample.prompt_tokens),
        image_tokens=_sum(answered, lambda sample: sample.image_tokens),
        output_tokens=_sum(answered, lambda sample: sample.completion_tokens),
        late_s=quantile([sample.sent_s - sample.due_s for sample in samples], 0.99) if pace.rate and samples else None,
    )


def steady_window(samples: Sequence[Sample], pace: Pace) -> Window | None:
    """From the moment when every user has its first token (open loop: the first answer) to the last question.

    After the last question the load falls: what ends later is counted up to that moment only. None where less than a
    fifth of the time, or fewer than five questions, lie between.
    """
    answered = sorted((sample for sample in samples if sample.ok), key=lambda sample: sample.sent_s)
    if not answered:
        return None
    first = answered[: pace.users] if pace.users else answered[:1]
    start = max(sample.times_s[0] if sample.times_s else sample.ended_s for sample in first)
    window = Window(start, max(sample.sent_s for sample in samples))
    inside = sum(window.start_s <= sample.sent_s <= window.end_s for sample in answered)
    long_enough = window.seconds >= _STEADY_SHARE * _whole(samples).seconds
    return window if long_enough and inside >= _STEADY_REQUESTS else None


def spread(values: Iterable[float | None]) -> Spread | None:
    """None where nothing is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    quantiles = {name: quantile(known, share) for name, share in SHARES.items()}
    return Spread(quantile_estimate(known, 0.5), fmean(known), quantiles, max(known))


def throughput(answered: Sequence[Sample], window: Window) -> Throughput:
    """What flowed in the window. A token is counted when it came; a prompt when its first token came."""
    seconds = window.seconds or float("nan")
    ended = [sample for sample in answered if window.start_s < sample.ended_s <= window.end_s]
    begun = [s for s in answered if s.times_s and window.start_s < s.times_s[0] <= window.end_s]
    return Throughput(
        requests=len(ended) / seconds,
        output_tokens=_over(_output(answered, window), seconds),
        text_tokens=_over(_sum(begun, lambda sample: sample.text_tokens), seconds),
        image_tokens=_over(_sum(begun, lambda sample: sample.image_tokens), seconds),
        pictures=sum(sample.pictures for sample in begun) / seconds,
    )


def _output(answered: Sequence[Sample], window: Window) -> float | None:
    """Tokens that came in the window: each piece of an answer stands for an equal part of its tokens."""
    total = 0.0
    for sample in answered:
        if sample.completion_tokens is None:
            return None
        if sample.times_s:
            inside = sum(window.start_s < time_s <= window.end_s for time_s in sample.times_s)
            total += sample.completion_tokens * inside / len(sample.times_s)
    return total


def _good(inside: Sequence[Sample], samples: Sequence[Sample], bounds: Bounds, window: Window) -> Good | None:
    """A request that failed was not good."""
    failed = sum(not sample.ok and window.start_s <= sample.sent_s <= window.end_s for sample in samples)
    if not inside and not failed:
        return None
    rows = [(sample.first_token_s, sample.time_per_token_s, sample.end_to_end_s) for sample in inside]
    kept = goodput(rows, (bounds.first_token_s, bounds.time_per_token_s, bounds.end_to_end_s))
    return Good(bounds, share_estimate(kept, len(inside) + failed), kept / window.seconds)


def _failures(samples: Sequence[Sample]) -> tuple[Failure, ...]:
    kinds: dict[str, list[Sample]] = {}
    for sample in samples:
        if not sample.ok:
            kinds.setdefault(sample.error, []).append(sample)
    found = [Failure(kind, len(failed), failed[0].evidence) for kind, failed in kinds.items()]
    return tuple(sorted(found, key=lambda failure: -failure.count))


def _whole(samples: Sequence[Sample]) -> Window:
    if not samples:
        return Window(0.0, 0.0)
    return Window(min(sample.sent_s for sample in samples), max(sample.ended_s for sample in samples))


def _sum(samples: Sequence[Sample], count: Callable[[Sample], int | None]) -> int | None:
    """Unknown where a single part is."""
    counts = [count(sample) for sample in samples]
    known = [value for value in counts if value is not None]
    return sum(known) if len(known) == len(counts) else None


def _over(amount: float | None, seconds: float) -> float | None:
    return None if amount is None else amount / seconds
