"""The server's own count of the same window: `/metrics` before and after, held against what the client saw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from fitserve.measure.replies import NotAReply, body_of
from fitserve.measure.sample import Sample
from fitserve.measure.wire import Address, exchange
from fitserve.observe.metrics import totals

_SCRAPE_S = 10.0
_SETTLE_S, _LOOKS = 0.1, 20  # the engine counts a request a moment after its last byte
_SLACK_S, _SLACK_SHARE = 0.020, 0.10  # transfer and decoding of pictures lie outside of the server's clock


class Held(StrEnum):
    """How a figure of ours stands to the server's."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Comparison:
    """One quantity as both saw it. None is unknown."""

    name: str  # requests, prompt_tokens, output_tokens, first_token_s, end_to_end_s
    client: float | None
    server: float | None
    held: Held


@dataclass(frozen=True)
class ServerView:
    """What the server counted while we measured. `comparisons` is empty where it has no metrics."""

    comparisons: tuple[Comparison, ...] = ()
    preemptions: int | None = None
    prefix_cache_hits: int | None = None
    picture_cache_hits: int | None = None

    @property
    def differs(self) -> tuple[Comparison, ...]:
        """What does not agree."""
        return tuple(row for row in self.comparisons if row.held is Held.DIFFERS)


async def fetch(address: Address, path: str) -> str | None:
    """A plain GET; None where there is no such page or nobody there."""
    try:
        status, body = body_of(await exchange(address, "GET", path, (), _SCRAPE_S))
    except (OSError, TimeoutError, NotAReply):
        return None
    return body.decode("utf-8", "replace") if status == 200 else None


def counters(text: str | None) -> dict[str, float]:
    """vLLM's counters by their whole names, summed over engines, ranks and reasons. Buckets are left out."""
    return {f"vllm:{name}": value for name, value in totals(text or "").items()}


async def settled(address: Address, before: Mapping[str, float], answered: int) -> dict[str, float]:
    """The counters once they hold all our requests, or after two seconds."""
    after: dict[str, float] = {}
    for _ in range(_LOOKS):
        after = counters(await fetch(address, "/metrics"))
        counted = _delta(before, after, "vllm:request_success_total")
        if counted is None or counted >= answered:
            break
        await asyncio.sleep(_SETTLE_S)
    return after


def server_view(samples: Sequence[Sample], before: Mapping[str, float], after: Mapping[str, float]) -> ServerView:
    """Our figures beside the server's."""
    if not after:
        return ServerView()
    answered = [sample for sample in samples if sample.ok]
    rows = (
        _counted("requests", len(answered), _delta(before, after, "vllm:request_success_total")),
        _counted("prompt_tokens", _total(answered, "prompt_tokens"), _delta(before, after, "vllm:prompt_tokens_total")),
        _counted(
            "output_tokens",
            _total(answered, "completion_tokens"),
            _delta(before, after, "vllm:generation_tokens_total"),
        ),
        _timed("first_token_s", answered, _mean(before, after, "vllm:time_to_first_token_seconds")),
        _timed("end_to_end_s", answered, _mean(before, after, "vllm:e2e_request_latency_seconds")),
    )
    return ServerView(
        rows,
        _whole(_delta(before, after, "vllm:num_preemptions_total")),
        _whole(_delta(before, after, "vllm:prefix_cache_hits_total")),
        _whole(_delta(before, after, "vllm:mm_cache_hits_total")),
    )


def _counted(name: str, client: float | None, server: float | None) -> Comparison:
    """Counts have to be equal."""
    if client is None or server is None:
        return Comparison(name, client, server, Held.UNKNOWN)
    return Comparison(name, client, server, Held.AGREES if client == server else Held.DIFFERS)


def _timed(name: str, answered: Sequence[Sample], server: float | None) -> Comparison:
    """Means have to be near: the client's clock runs a little longer, never shorter."""
    values = [value for value in (getattr(sample, name) for sample in answered) if value is not None]
    client = fmean(values) if values else None
    if client is None or server is None:
        return Comparison(name, client, server, Held.UNKNOWN)
    slack = max(_SLACK_S, _SLACK_SHARE * server)
    return Comparison(name, client, server, Held.AGREES if abs(client - server) <= slack else Held.DIFFERS)


def _total(answered: Sequence[Sample], name: str) -> float | None:
    counts = [getattr(sample, name) for sample in answered]
    return None if None in counts else sum(counts)


def _delta(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    """None where the server has no such counter, or has been restarted in between."""
    if name not in after:
        return None
    grown = after[name] - before.get(name, 0.0)
    return grown if grown >= 0 else None


def _mean(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    total, count = _delta(before, after, name + "_sum"), _delta(before, after, name + "_count")
    return total / count if total is not None and count else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
