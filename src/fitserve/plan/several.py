"""Several services on fewer ranks each, beside one on all the cards: the tokens that their caches hold."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.plan.gpu import Weighed
from fitserve.plan.plan import Refused
from fitserve.text import tr


@dataclass(frozen=True)
class Several:
    """Fewer ranks, but as many services as the taken cards hold: tokens of all their caches against those of one."""

    ranks: int
    services: int
    each: int
    taken: int
    alone: int

    @classmethod
    def of(cls, item: Weighed, best: Weighed) -> Several | None:
        """None where a second one does not surely fit, or nobody can compare: cards that differ, a shorter length."""
        ranks, taken = item.settings.tensor_parallel_size, best.settings.tensor_parallel_size
        each, alone = item.judgement.kv, best.judgement.kv
        equal = len({(card.name, card.total_bytes, card.free_bytes) for card in best.cards}) == 1
        shorter = item.settings.max_model_len < best.settings.max_model_len
        if not item.judgement.fits or not each or not alone or taken // ranks < 2 or not equal or shorter:
            return None
        return cls(ranks, taken // ranks, each.tokens, taken, alone.tokens)

    @property
    def tokens(self) -> int:
        """Of all services."""
        return self.services * self.each

    def said(self, key: str) -> str:
        """The sentence with both figures."""
        return tr(key, services=self.services, ranks=self.ranks, whole=f"{self.tokens:,}", each=f"{self.each:,}",
                  taken=self.taken, tokens=f"{self.alone:,}")  # fmt: skip

    def option(self) -> Refused:
        """For a person to choose: speed is not computed."""
        settings: dict[str, object] = {"tensor_parallel_size": self.ranks, "services": self.services}
        return Refused(settings, self.said("plan.option_services"), fits=True)
