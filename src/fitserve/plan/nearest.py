"""What would run with something else than was asked: never taken unasked, named where what was asked does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fitserve.facts.known_models import builds_of, read_known
from fitserve.plan.gpu import Scale, Weighed
from fitserve.plan.kv import blocks_per_request
from fitserve.plan.passes import sees
from fitserve.plan.plan import Refused, Verdict
from fitserve.plan.search import descend
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import undivided
from fitserve.text import tr
from fitserve.units import GIB, format_gib

Near = tuple[Refused, bool]  # and whether it runs
_SHORT = 4096  # tokens: a request that most people still call useful


def nearest(scale: Scale, first: Settings, best: Settings) -> list[Refused]:
    """What would run with something else than was asked, what runs first; never taken unasked.

    `first` is what a descent begins with, `best` where it ended.
    """
    found = [*_shorter(scale, first), *_builds(scale, first, best), *_other(scale, first), *_offload(scale, best)]
    return [near for near, runs in found if runs] + [near for near, runs in found if not runs]


def _shorter(scale: Scale, settings: Settings) -> list[Near]:
    """The length that fits, where one was asked that does not."""
    if scale.given.request.max_model_len is None:
        return []
    free = Scale(replace(scale.given, request=replace(scale.given.request, max_model_len=None)))
    weighed = descend(free, settings).weighed
    length = weighed.settings.max_model_len
    if not weighed.judgement.fits or length >= settings.max_model_len:
        return []
    return [(Refused({"max_model_len": length}, tr("plan.near_length", length=f"{length:,}")), True)]


def _builds(scale: Scale, first: Settings, best: Settings) -> list[Near]:
    """Smaller builds of the same model that run; where none is known, how small one must be."""
    found = [near for near in (_build(scale, first, name) for name in builds_of(scale.given.model.name)) if near]
    return found or list(_size_that_fits(scale, best))


def _build(scale: Scale, settings: Settings, name: str) -> Near | None:
    other = Scale(replace(scale.given, model=read_known(name)))
    if other.weigh(settings).rank.weights >= scale.weigh(settings).rank.weights:
        return None
    weighed = descend(other, replace(settings, served_model_name=name)).weighed
    return _near(weighed, {"model": name}, "plan.near_build", name=name) if weighed.judgement.fits else None


def _size_that_fits(scale: Scale, settings: Settings) -> Iterator[Near]:
    """The weights a rank could hold beside the cache of one short request, everything else at its high end."""
    weighed = scale.weigh(settings)
    layout = scale.given.layout(settings)
    if layout is None or not weighed.rank.weights:
        return
    needed = blocks_per_request(layout, _SHORT, scale.given.request_shape(settings)) * layout.bytes_per_block
    room = weighed.rank.weights + weighed.rank.pool.low - needed
    if 0 < room < weighed.rank.weights:
        yield Refused({}, tr("plan.near_size", weights=format_gib(room), length=f"{_SHORT:,}")), False


def _offload(scale: Scale, settings: Settings) -> list[Near]:
    """Weights in the host's memory: what is missing, in whole GiB and one to spare. Weights cross the bus each step."""
    rank = scale.weigh(settings).rank
    missing = -rank.pool.low
    if missing <= 0 or not rank.weights:
        return []
    gib = missing // GIB + 2
    return [(Refused({"cpu_offload_gb": gib}, tr("plan.near_offload", gib=gib)), False)]


def _other(scale: Scale, settings: Settings) -> list[Near]:
    found = []
    if sees(scale.given.model, settings):
        text_only = descend(scale, replace(settings, language_model_only=True)).weighed
        found.append(_near(text_only, {"language_model_only": True}, "plan.near_text"))
    doubled = with_more_cards(scale)
    ranks = settings.tensor_parallel_size * 2
    if doubled is not None and not list(undivided(scale.given.model, ranks)):
        spread = descend(doubled, replace(settings, tensor_parallel_size=ranks)).weighed
        found.append(_near(spread, {"tensor_parallel_size": ranks}, "plan.near_cards"))
    return found


def with_more_cards(scale: Scale) -> Scale | None:
    """The same situation with twice the cards, the added ones like the roomiest and empty."""
    if not scale.cards:
        return None
    like = replace(scale.cards[0], free_bytes=None)
    added = tuple(replace(like, index=len(scale.cards) + number) for number in range(len(scale.cards)))
    return Scale(replace(scale.given, gpus=(*scale.cards, *added)))


def _near(weighed: Weighed, changed: dict[str, object], key: str, **said_too: str) -> Near:
    verdict = tr(f"plan.near_{weighed.judgement.verdict.value}")
    ranks = weighed.settings.tensor_parallel_size
    why = weighed.judgement.obstacle
    said = tr(key, verdict=verdict, weights=format_gib(weighed.rank.weights), ranks=ranks, **said_too)
    return Refused(changed, f"{said} {why}".strip()), weighed.judgement.verdict is not Verdict.DOES_NOT_FIT
