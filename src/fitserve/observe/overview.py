"""All that a screen shows of one moment, from the moments before it: each service's window and signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from fitserve.observe.metrics import Metrics
from fitserve.observe.moments import Moment, Service, to_row
from fitserve.observe.signs import CardSigns, Signs, service_of, signs
from fitserve.observe.windows import Window, window

SCHEMA_VERSION = 1
_KEPT = 2000  # moments
_LATELY = 5  # moments: a recording may look at the cards more often than at the services


@dataclass(frozen=True)
class ServiceOverview:
    """One service. `window` is None where it tells no metrics."""

    service: Service
    window: Window | None
    signs: Signs


@dataclass(frozen=True)
class Overview:
    """One moment. `machine` is what the samples say without regard to any service."""

    moment: Moment
    services: tuple[ServiceOverview, ...]
    machine: Signs

    @property
    def answers(self) -> bool:
        """Whether any service does."""
        return any(one.service.state == "answering" for one in self.services)

    def card(self, index: int) -> CardSigns | None:
        """The signs of a card: since the engine on it began, where one is known to be on it."""
        owners = [one.signs for one in self.services if one.service.cards and index in one.service.cards]
        known = (owners[-1] if owners else self.machine).cards or ()
        return next((card for card in known if card.index == index), None)


class History:
    """Moments in order. Of a long one the older half is kept by every second moment: it stays whole and small."""

    def __init__(self, moments: Sequence[Moment] = ()) -> None:
        self.moments: list[Moment] = []
        for moment in moments:
            self.add(moment)

    def add(self, moment: Moment) -> None:
        """A moment that is not later than the last (a clock set back) begins a new history."""
        if self.moments and moment.at <= self.moments[-1].at:
            self.moments.clear()
        self.moments.append(moment)
        if len(self.moments) > _KEPT:
            half = len(self.moments) // 2
            self.moments[:half] = self.moments[:half:2]

    def answered(self) -> History | None:
        """Up to the last moment at which a service answered; None where none ever did."""
        for number in range(len(self.moments), 0, -1):
            if any(service.state == "answering" for service in self.moments[number - 1].services):
                return History(self.moments[:number])
        return None

    def overview(self, seconds: float) -> Overview:
        """Of the last moment; rates and latencies over so many seconds before it. There must be a moment."""
        lately = reversed(self.moments[-_LATELY:])
        now = replace(self.moments[-1], services=next((moment.services for moment in lately if moment.services), ()))
        services = tuple(self._service(service, seconds) for service in now.services)
        return Overview(now, services, signs(self.moments))

    def _service(self, service: Service, seconds: float) -> ServiceOverview:
        found = window(self._looks(service.name), seconds) if service.metrics else None
        return ServiceOverview(service, found, signs(self.moments, service.name))

    def _looks(self, name: str) -> list[tuple[float, Metrics]]:
        seen = ((moment.at, service_of(moment, name)) for moment in self.moments)
        return [(at, service.metrics) for at, service in seen if service is not None and service.metrics is not None]


def to_document(overview: Overview) -> dict[str, object]:
    """A line of `watch --json`: the moment as a recording has it, and the figures made from it."""
    figures = [
        {"name": one.service.name, "window": one.window and asdict(one.window), "signs": asdict(one.signs)}
        for one in overview.services
    ]
    head = {"schema_version": SCHEMA_VERSION, "kind": "watch"}
    return head | to_row(overview.moment) | {"figures": figures, "machine": asdict(overview.machine)}
