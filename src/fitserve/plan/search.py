"""The choice among numbers of ranks, and how far down the ladder each must go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_kinds import Peer, find_kind
from fitserve.plan.gpu import Scale, Weighed
from fitserve.plan.ladder import Step, block_changes, rungs
from fitserve.plan.plan import Refused, Verdict
from fitserve.plan.settings import Settings
from fitserve.plan.several import Several
from fitserve.plan.sharding import crossing_groups, undivided
from fitserve.text import tr
from fitserve.units import format_gib

_ORDER = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)
_RANKS = (1, 2, 4, 8, 16)
_WITHOUT_NEED = 4  # ranks; more are taken only where the cards reach each other directly, or where fewer do not fit


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, and what was given up on the way."""

    weighed: Weighed
    given_up: tuple[str, ...]

    @property
    def order(self) -> tuple[int, int, bool]:
        """Smaller is better: the verdict, then how much was given up for it, then graphs before eager."""
        verdict = self.weighed.judgement.verdict
        lost = 0 if verdict is Verdict.DOES_NOT_FIT else len(self.given_up)
        return _ORDER.index(verdict), lost, self.weighed.settings.enforce_eager


@dataclass(frozen=True)
class Choice:
    """The chosen descent, and the other numbers of ranks with what speaks against them."""

    descent: Descent
    refused: tuple[Refused, ...]
    options: tuple[Refused, ...] = ()


def choose(scale: Scale, starts: Iterable[Settings]) -> Choice:
    """The first start with the best ending; `starts` come with the preferred number of ranks in front."""
    found = [descend(scale, settings) for settings in starts]
    best = min(range(len(found)), key=lambda index: (found[index].order, index))
    others = [(item, index > best) for index, item in enumerate(found) if index != best]
    refused = tuple(_refused(scale, item, found[best], later) for item, later in others)
    several = [Several.of(item.weighed, found[best].weighed) for item, _ in others if not item.given_up]
    more = max(filter(None, several), key=lambda services: services.tokens, default=None)
    return Choice(found[best], refused, (more.option(),) if more and more.tokens > more.alone else ())


def descend(scale: Scale, settings: Settings) -> Descent:
    """Give up one thing after the other until it fits; then take back what was given up in vain.

    Where nothing makes it fit: the first that is tight, else the best try: what is short there is what is short at all.
    """
    first = weighed = scale.weigh(settings)
    taken: list[Step] = []
    tight: Descent | None = None
    for rung in rungs(scale.given.request):
        if weighed.judgement.fits:
            break
        for step in rung(scale, weighed):
            tried = scale.weigh(step.apply(weighed.settings))
            if not _gains(tried, weighed):
                continue
            weighed = tried
            taken = [*(other for other in taken if not step.changes.keys() <= other.changes.keys()), step]
            if weighed.judgement.verdict is Verdict.TIGHT and tight is None:
                tight = Descent(weighed, _said(taken))
            if weighed.judgement.fits:
                return _taken_back(scale, first.settings, weighed, taken)
    if first.judgement.verdict is not Verdict.DOES_NOT_FIT:
        return Descent(first, ())
    return tight or Descent(weighed, _said(taken))


def _gains(tried: Weighed, before: Weighed) -> bool:
    """Worth giving something up: the verdict is better, or there is more room somewhere."""
    now, then = (_ORDER.index(item.judgement.verdict) for item in (tried, before))
    if now != then:
        return now < then
    more_room = tried.rank.pool.low > before.rank.pool.low or tried.rank.probe < before.rank.probe
    return more_room or tried.settings.max_model_len < before.settings.max_model_len


def _taken_back(scale: Scale, first: Settings, weighed: Weighed, taken: list[Step]) -> Descent:
    """Undo each step that is not needed, the earliest first; of the others, say what stands against undoing them."""
    for step in list(taken):
        tried = scale.weigh(_undone(scale, first, weighed.settings, step))
        if tried.judgement.fits:
            weighed, taken = tried, [other for other in taken if other is not step]
    against = ((step, scale.weigh(_undone(scale, first, weighed.settings, step)).judgement.obstacle) for step in taken)
    return Descent(weighed, tuple(f"{step.said} {tr('plan.otherwise', why=why)}" for step, why in against))


def _undone(scale: Scale, first: Settings, settings: Settings, step: Step) -> Settings:
    """Without the step; what remains may need a longer one still, so that a step holds a block."""
    undone = replace(settings, **{name: getattr(first, name) for name in step.changes})
    return replace(undone, **(block_changes(scale, undone) or {}))  # type: ignore[arg-type]  # names of fields


def _said(taken: Iterable[Step]) -> tuple[str, ...]:
    return tuple(step.said for step in taken)


def _refused(scale: Scale, item: Descent, best: Descent, later: bool) -> Refused:
    ranks = item.weighed.settings.tensor_parallel_size
    why = item.weighed.judgement.obstacle
    if not why and item.weighed.settings.enforce_eager and not best.weighed.settings.enforce_eager:
        why = tr("plan.refused_eager", ranks=ranks)
    if not why and ranks > best.weighed.settings.tensor_parallel_size:
        why = more_ranks(scale, ranks, item.weighed, best.weighed)
    if not why and (several := Several.of(item.weighed, best.weighed)):
        why = several.said("plan.refused_services")
    if not why:
        blocks = item.weighed.judgement.kv.blocks if item.weighed.judgement.kv else 0
        key = "plan.refused_fewer" if later else "plan.refused_other"
        why = tr(key, ranks=ranks, pool=format_gib(max(0, item.weighed.rank.pool.expected)), blocks=blocks)
    return Refused(
        {"tensor_parallel_size": ranks}, why, fits=item.weighed.judgement.verdict is not Verdict.DOES_NOT_FIT
    )


def more_ranks(scale: Scale, ranks: int, item: Weighed, best: Weighed) -> str:
    """Why more ranks are not better here: copies of KV heads, and two sums over all cards in every layer."""
    attention = scale.given.model.attention
    copies = max(1, ranks // attention.kv_heads) if attention else 1
    sums = 2 * len(scale.given.model.layers)
    saved = format_gib(best.rank.weights - item.rank.weights)
    return tr("plan.refused_more", ranks=ranks, copies=copies, sums=sums, saved=saved)


def rank_counts(scale: Scale) -> list[int]:
    """Numbers of ranks worth weighing, the preferred one first: powers of two that cards and heads allow."""
    model = scale.given.model
    whole = scale.given.request.enable_expert_parallel
    possible = [
        ranks
        for ranks in _RANKS
        if ranks <= len(scale.cards)
        and not list(undivided(model, ranks))
        and (whole or not crossing_groups(model, ranks))
    ]
    if not possible:
        return [1]
    most = 8 if all(linked(card) for card in scale.cards) else _WITHOUT_NEED
    preferred = max((ranks for ranks in possible if ranks <= most), default=possible[0])
    larger = [ranks for ranks in possible if ranks > preferred]
    return [preferred, *larger, *(ranks for ranks in reversed(possible) if ranks < preferred)]


def linked(card: Gpu) -> bool:
    """Whether a card reaches its peers directly: as the driver says, else as its kind has it."""
    if card.nvlink is not None:
        return card.nvlink
    kind = find_kind(card.name)
    return kind is not None and kind.peer is Peer.NVLINK


def ranks_said(scale: Scale, ranks: int) -> list[str]:
    """What is to be said of the number of ranks: copies of KV heads, and cards left alone."""
    said, attention = [], scale.given.model.attention
    if attention and ranks > attention.kv_heads:
        copies = ranks // attention.kv_heads
        said.append(tr("plan.kv_heads_copied", heads=attention.kv_heads, ranks=ranks, copies=copies))
    if idle := len(scale.cards) - ranks:
        said.append(tr("plan.cards_idle" if idle >= ranks else "plan.cards_left", idle=idle))
    return said
