"""One candidate for GPUs, weighed: the cards it takes, the ledger of the tightest of them, the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitserve.facts.gpu import Gpu
from fitserve.plan.calibration import Calibration, calibration_for
from fitserve.plan.cpu import Draft
from fitserve.plan.given import Given
from fitserve.plan.gpu_rows import RankLedger, Weights
from fitserve.plan.judge import Judgement, judge
from fitserve.plan.passes import sees
from fitserve.plan.settings import Settings
from fitserve.plan.visible import roomiest
from fitserve.units import GIB, MIB

_MARGIN = 100 * MIB  # left beside the context when the utilization is chosen
_FRAGMENTS = 512 * MIB  # with pictures: 0.36 GiB left beside the context ended at the largest one (docs/measured.md)
_MOST = 0.95


@dataclass(frozen=True)
class Weighed:
    """A candidate with the rank that decides it."""

    settings: Settings
    rank: RankLedger
    judgement: Judgement
    cards: tuple[Gpu, ...] = ()

    def draft(self, reasons: tuple[str, ...]) -> Draft:
        """The candidate as a draft of the plan."""
        kv = self.judgement.kv
        pool = kv.blocks * kv.bytes_per_block if kv else max(0, self.rank.pool.expected)
        rows = tuple(self.rank.rows(pool))
        return Draft(self.settings, self.judgement.verdict, self.rank.budget, rows, kv, reasons, cards=self.cards)


class Scale:
    """Weighs candidates for one given situation; what does not change between them is added up once."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.cards = roomiest(given.gpus or ())
        self._weights = Weights(given.model)

    def figures(self, card: Gpu) -> Calibration:
        """The calibration for a card under the engine's version."""
        return calibration_for(card.name, self.given.engine.version, self.given.learned)

    def weigh(self, settings: Settings) -> Weighed:
        """The tightest of the roomiest `tensor_parallel_size` cards decides: the smallest rank sets the blocks."""
        cards = self.cards[: settings.tensor_parallel_size]
        ranks = [self._rank(settings, card) for card in _different(cards)]
        tightest = min(ranks, key=lambda rank: (min(rank.pool.low, rank.free - rank.budget), rank.pool.low, rank.free))
        return Weighed(settings, tightest, judge(tightest), cards)

    def _rank(self, settings: Settings, card: Gpu) -> RankLedger:
        whole = self._weights.of(settings, card)
        weights = max(min(whole, 1), whole - int(settings.cpu_offload_gb * GIB))
        return RankLedger(self.given, settings, card, self.figures(card), weights, self._weights.layer(settings))

    def utilization(self, settings: Settings) -> float:
        """The version's default, less where a card is not free enough for it beside the context."""
        return max(0.01, min(self.given.rules.default_utilization, self._roomiest(settings)))

    def highest_utilization(self, settings: Settings) -> float:
        """As high as the context allows, at most 0.95."""
        return min(_MOST, self._roomiest(settings))

    def _roomiest(self, settings: Settings) -> float:
        """The largest share that every card of the candidate has free beside its context, in whole hundredths."""
        ranks = (
            RankLedger(self.given, settings, card, self.figures(card), 0)
            for card in self.cards[: settings.tensor_parallel_size]
        )
        margin = _FRAGMENTS if sees(self.given.model, settings) else _MARGIN
        rooms = ((rank.free - rank.context.high - margin) / rank.card.total_bytes for rank in ranks)
        return math.floor(min(rooms, default=1.0) * 100) / 100


def _different(cards: tuple[Gpu, ...]) -> list[Gpu]:
    """One card of each kind: equal cards have equal ledgers."""
    seen: dict[tuple[str, int, int | None], Gpu] = {}
    for card in cards:
        seen.setdefault((card.name, card.total_bytes, card.free_bytes), card)
    return list(seen.values())
