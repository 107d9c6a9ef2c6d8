"""One bench: the cost of a picture in tokens, a warm-up that is not counted, the measured load, the server's view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from fitserve.chat.endpoint import Endpoint
from fitserve.measure.figures import Bounds, Figures, figures
from fitserve.measure.lag import LIMIT_S
from fitserve.measure.load import Asking, Load, Pace, Ran
from fitserve.measure.memory import MemoryWatch, UsedMemory
from fitserve.measure.pictures import Size
from fitserve.measure.sample import Sample
from fitserve.measure.server import Held, ServerView, counters, fetch, server_view, settled
from fitserve.measure.wire import Address
from fitserve.measure.workload import Script, Workload, judged, scripts

WARMUP, MEASURED = "warmup", "measured"


@dataclass(frozen=True)
class Spec:
    """What one bench does. `warmup` conversations go before and are not counted."""

    work: Workload = field(default_factory=Workload)
    pace: Pace = field(default_factory=lambda: Pace(users=1))
    warmup: int = 1
    bounds: Bounds = field(default_factory=Bounds)
    extra: tuple[tuple[str, object], ...] = ()
    limit_s: float = 600.0

    def asking(self, endpoint: Endpoint) -> Asking:
        """How its questions are put."""
        return Asking(endpoint, self.work.output_tokens, self.work.max_tokens, self.limit_s, self.extra)


class Listener(Protocol):
    """Who hears of a bench while it runs."""

    def begins(self, part: str, requests: int) -> None: ...
    def sample(self, part: str, sample: Sample, in_flight: int) -> None: ...


@dataclass(frozen=True)
class Bench:
    """What a bench found. `invalid` names why its figures must not be used; `notes` what a reader should know."""

    spec: Spec
    figures: Figures
    server: ServerView
    warmup: tuple[Sample, ...]
    samples: tuple[Sample, ...]
    lag_s: float
    seconds: float
    unfinished: int
    judged: int
    right: int
    picture_tokens: dict[Size, int]
    memory_peak_bytes: tuple[int, ...] | None
    memory: tuple[tuple[float, tuple[int, ...]], ...] = ()
    invalid: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def bench(endpoint: Endpoint, spec: Spec, memory: UsedMemory, stop: asyncio.Event, listener: Listener) -> Bench:
    """Measure an endpoint whose model is named. What is done when `stop` is set is kept."""
    address = Address.of(endpoint.base_url, endpoint.api_key)
    cost = await picture_cost(endpoint, spec)
    warm = tuple(scripts(replace(spec.work, conversations=spec.warmup), WARMUP)) if spec.warmup else ()
    work = tuple(scripts(spec.work, MEASURED))
    warmup = await _load(endpoint, spec, warm, WARMUP, cost, stop, listener)
    before = counters(await fetch(address, "/metrics"))
    watch = MemoryWatch(memory)
    watch.start()
    try:
        ran = await _load(endpoint, spec, work, MEASURED, cost, stop, listener)
    finally:
        peak = watch.end()
    answered = sum(sample.ok for sample in ran.samples)
    view = server_view(ran.samples, before, await settled(address, before, answered) if before else {})
    found = figures(ran.samples, spec.pace, spec.bounds)
    verdicts = judged(work, [(s.conversation, s.turn, s.answer) for s in ran.samples if s.ok])
    return Bench(
        spec, found, view, warmup.samples, ran.samples, ran.lag_s, ran.seconds, ran.unfinished,
        judged=len(verdicts),
        right=sum(verdicts),
        picture_tokens=cost,
        memory_peak_bytes=peak,
        memory=tuple(watch.samples),
        invalid=invalid(found, ran),
        notes=notes(found, view, spec, ran),
    )  # fmt: skip


async def _load(
    endpoint: Endpoint,
    spec: Spec,
    work: Sequence[Script],
    part: str,
    cost: dict[Size, int],
    stop: asyncio.Event,
    listener: Listener,
) -> Ran:
    """One part, each sample heard with its pictures' tokens."""
    listener.begins(part, sum(len(script.asks) for script in work))
    if not work or stop.is_set():
        return Ran((), 0.0, 0.0, 0)
    known = _tokens_of_pictures(work, cost)
    load = Load(spec.asking(endpoint), spec.pace, lambda sample: listener.sample(part, known(sample), load.in_flight))
    ran = await load.run(work, stop, spec.work.seed)
    return replace(ran, samples=tuple(map(known, ran.samples)))


def _tokens_of_pictures(work: Sequence[Script], cost: dict[Size, int]) -> Callable[[Sample], Sample]:
    """Puts the pictures' tokens into a sample, where the endpoint did not say them itself."""
    per_script = {script.index: [cost.get(size) for ask in script.asks for size in ask.sizes] for script in work}

    def known(sample: Sample) -> Sample:
        parts = per_script.get(sample.conversation, [])
        if sample.image_tokens is not None or not sample.ok or None in parts:
            return sample
        return replace(sample, image_tokens=sum(part for part in parts if part is not None))

    return known


async def picture_cost(endpoint: Endpoint, spec: Spec) -> dict[Size, int]:
    """Tokens of a picture of each size: a question with and without it. Sizes that would not say are left out."""
    sizes = dict.fromkeys(spec.work.sizes if spec.work.pictures else ())
    costs: dict[Size, int] = {}
    for size in sizes:
        work = Workload(conversations=1, sizes=(size,), output_tokens=None, max_tokens=1, seed=spec.work.seed)
        (shown,) = scripts(work, "cost")
        plain = replace(shown.asks[0], message=_without_pictures(shown.asks[0].message), sizes=())
        counts = [await _prompt_tokens(endpoint, spec, Script(0, (ask,))) for ask in (shown.asks[0], plain)]
        if counts[0] is not None and counts[1] is not None:
            costs[size] = counts[0] - counts[1]
    return costs


def _without_pictures(message: bytes) -> bytes:
    import msgspec

    table = msgspec.json.decode(message)
    table["content"] = [part for part in table["content"] if part["type"] == "text"]
    return msgspec.json.encode(table)


async def _prompt_tokens(endpoint: Endpoint, spec: Spec, script: Script) -> int | None:
    asking = replace(spec.asking(endpoint), output_tokens=None, max_tokens=1)
    ran = await Load(asking, Pace(users=1)).run([script], asyncio.Event())
    return ran.samples[0].prompt_tokens if ran.samples else None


async def engine_version(endpoint: Endpoint) -> str | None:
    """vLLM's version, where the endpoint is vLLM."""
    import json

    text = await fetch(Address.of(endpoint.base_url, endpoint.api_key), "/version")
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(text or "")["version"])
    return None


async def reachable(endpoint: Endpoint) -> Endpoint:
    """With a model's name in it. Raises NoAnswer or NoAnswerInTime where nobody is there."""
    from fitserve.chat.models import served_models

    served = await served_models(endpoint)
    return endpoint if endpoint.model else replace(endpoint, model=served[0].name)


def invalid(found: Figures, ran: Ran) -> tuple[str, ...]:
    """Why the figures must not be used."""
    reasons = []
    if ran.lag_s > LIMIT_S:
        reasons.append("lagged")
    if found.late_s is not None and found.late_s > 2 * LIMIT_S:
        reasons.append("late")
    if not found.answered:
        reasons.append("nothing_answered")
    return tuple(reasons)


def notes(found: Figures, view: ServerView, spec: Spec, ran: Ran) -> tuple[str, ...]:
    """What a reader should know."""
    told = {
        "no_steady": found.answered > 0 and found.steady is None,
        "interrupted": ran.unfinished > 0,
        "server_unknown": all(row.held is Held.UNKNOWN for row in view.comparisons),
        "server_differs": bool(view.differs),
        "preempted": bool(view.preemptions),
        "picture_cache": bool(view.picture_cache_hits) and not spec.work.same_pictures,
        "tokens_unknown": found.answered > 0 and found.output_tokens is None,
    }
    return tuple(name for name, true in told.items() if true)
