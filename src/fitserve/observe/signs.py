"""What the samples of a running service say of its machine: growth, cards unlike each other, heat, slowed clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fitserve.observe.gpu_samples import CardSample
from fitserve.observe.host_samples import ProcessSample
from fitserve.observe.moments import Moment, Service
from fitserve.observe.trend import Trend, trend
from fitserve.units import GIB

# Clocks are lower than they could be, and it costs speed. `power_cap` is a card at its limit: normal under full load.
HARMFUL = frozenset({"hardware_slowdown", "software_thermal", "hardware_thermal", "power_brake"})
_THERMAL = frozenset({"software_thermal", "hardware_thermal"})
_NEAR_C = 3  # degrees below the point where the driver slows the card down
_UNEVEN_MEMORY, _UNEVEN_BYTES = 1.25, GIB
_UNEVEN_BUSY = 30.0  # per cent of the time
_UNEVEN_CLOCK = 1.15
_AWAY = ("stopped", "starting", "failed")


@dataclass(frozen=True)
class CardSigns:
    """One card over the whole time. `slowed`: the share of the samples with each reason, idle left out."""

    index: int
    growth: Trend
    hottest_c: int | None
    hot: bool | None
    slowed: Mapping[str, float] | None
    used_bytes: int | None = None  # now
    busy_percent: float | None = None  # mean
    clock_mhz: float | None = None  # mean while busy

    @property
    def throttled(self) -> bool | None:
        """Whether anything but its own power limit held it back."""
        return None if self.slowed is None else bool(HARMFUL & self.slowed.keys())


@dataclass(frozen=True)
class Balance:
    """How unlike the cards of one service are; `uneven` names in what: memory, load, clock. None is unknown."""

    uneven: tuple[str, ...] | None
    used_bytes: tuple[int, ...] = ()
    busy_percent: tuple[float, ...] = ()
    clock_mhz: tuple[float, ...] = ()


@dataclass(frozen=True)
class Signs:
    """From `seconds` of samples. `cards` is None where no driver answered."""

    seconds: float
    samples: int
    cards: tuple[CardSigns, ...] | None
    engine_growth: Trend  # the host memory of the engine's processes
    balance: Balance
    engine_cores: float | None = None  # processors that they kept busy between the last two samples

    @property
    def throttled(self) -> bool | None:
        """Whether any card was held back."""
        return _any([card.throttled for card in self.cards or ()])

    @property
    def hot(self) -> bool | None:
        """Whether any card is at the point where it slows down."""
        return _any([card.hot for card in self.cards or ()])


def signs(moments: Sequence[Moment], name: str = "") -> Signs:
    """Of the service of this name (of the whole machine without one), since its engine last began."""
    lived = since_start(moments, name)
    own = [_own_cards(moment, name) for moment in lived]
    indices = sorted({card.index for cards in own for card in cards or ()})
    cards = tuple(_card(lived, own, index) for index in indices) or None
    seconds = lived[-1].at - lived[0].at if lived else 0.0
    growth = trend(_engine_memory(lived, name))
    return Signs(seconds, len(lived), cards, growth, _balance(cards), _cores(lived[-2:], name))


def service_of(moment: Moment, name: str) -> Service | None:
    """By its name."""
    return next((service for service in moment.services if service.name == name), None)


def since_start(moments: Sequence[Moment], name: str) -> Sequence[Moment]:
    """From the last start on: while an engine loads, memory grows because it must.

    A start is where counters fall, or where the first are told. After a time away that is all that tells a new engine
    from a page that did not come, unless the old one had counted nothing yet. A moment that did not look at the service
    says nothing of it. A clock that was set back begins anew too.
    """
    first, last, away = 0, None, False
    for number, moment in enumerate(moments):
        if number and moment.at <= moments[number - 1].at:
            first = number
        service = service_of(moment, name)
        if service is None:
            continue
        away = away or service.state in _AWAY
        if service.metrics is not None:
            if last is None or service.metrics.restarted_since(last) or (away and not last.has_counted):
                first = number
            last, away = service.metrics, False
    return moments[first:]


def _own_cards(moment: Moment, name: str) -> tuple[CardSample, ...] | None:
    """The service's cards where it is known which, else all."""
    service, cards = service_of(moment, name), moment.sample.cards
    if cards is None or service is None or service.cards is None:
        return cards
    return tuple(card for card in cards if card.index in service.cards)


def _card(moments: Sequence[Moment], own: Sequence[tuple[CardSample, ...] | None], index: int) -> CardSigns:
    seen = [
        (moment.at, card)
        for moment, cards in zip(moments, own, strict=True)
        for card in cards or ()
        if card.index == index
    ]
    samples = [card for _, card in seen]
    growth = trend([(at, card.used_bytes) for at, card in seen if card.used_bytes is not None])
    hottest = max((card.temperature_c for card in samples if card.temperature_c is not None), default=None)
    busy = [card for card in samples if card.busy_percent]
    return CardSigns(
        index,
        growth,
        hottest,
        _any([hot for hot in map(_is_hot, samples) if hot is not None]),
        _slowed(samples),
        samples[-1].used_bytes,
        _mean(samples, lambda card: card.busy_percent),
        _mean(busy, lambda card: card.sm_clock_mhz),
    )


def _is_hot(card: CardSample) -> bool | None:
    if card.slow_reasons is not None and _THERMAL & set(card.slow_reasons):
        return True
    if card.temperature_c is None or card.slows_down_at_c is None:
        return None if card.slow_reasons is None else False
    return card.temperature_c >= card.slows_down_at_c - _NEAR_C


def _slowed(samples: Sequence[CardSample]) -> dict[str, float] | None:
    told = [card.slow_reasons for card in samples if card.slow_reasons is not None]
    if not told:
        return None
    names = sorted({name for reasons in told for name in reasons if name != "idle"})
    return {name: sum(name in reasons for reasons in told) / len(told) for name in names}


def _engine_memory(moments: Sequence[Moment], name: str) -> list[tuple[float, float]]:
    """Resident bytes of the service's processes. Without a service, of all that were sampled."""
    sampled = ((moment.at, processes_of(moment, name)) for moment in moments)
    return [(at, float(sum(process.rss_bytes for process in found))) for at, found in sampled if found]


def processes_of(moment: Moment, name: str) -> tuple[ProcessSample, ...]:
    """The service's processes on this machine. Without a service, all that were sampled."""
    service = service_of(moment, name)
    return tuple(one for one in moment.sample.host.processes if service is None or one.pid in service.pids)


def _cores(pair: Sequence[Moment], name: str) -> float | None:
    if len(pair) < 2:
        return None
    before = {one.pid: one.cpu_s for one in processes_of(pair[0], name)}
    used = [one.cpu_s - before[one.pid] for one in processes_of(pair[1], name) if one.pid in before]
    return sum(used) / (pair[1].at - pair[0].at) if used else None


def _balance(cards: tuple[CardSigns, ...] | None) -> Balance:
    if cards is None or len(cards) < 2:
        return Balance(None)
    used = tuple(card.used_bytes for card in cards if card.used_bytes is not None)
    busy = tuple(card.busy_percent for card in cards if card.busy_percent is not None)
    clock = tuple(card.clock_mhz for card in cards if card.clock_mhz is not None)
    whole = [len(figures) == len(cards) for figures in (used, busy, clock)]
    if not any(whole):
        return Balance(None, used, busy, clock)
    found = {
        "memory": whole[0] and max(used) > _UNEVEN_MEMORY * min(used) and max(used) - min(used) > _UNEVEN_BYTES,
        "load": whole[1] and max(busy) - min(busy) > _UNEVEN_BUSY,
        "clock": whole[2] and max(clock) > _UNEVEN_CLOCK * min(clock),
    }
    return Balance(tuple(name for name, is_so in found.items() if is_so), used, busy, clock)


def _mean(cards: Sequence[CardSample], figure: Callable[[CardSample], int | None]) -> float | None:
    known = [value for value in map(figure, cards) if value is not None]
    return fmean(known) if known else None


def _any(answers: Sequence[bool | None]) -> bool | None:
    """True where one is; None where none is and one is not known."""
    if any(answers):
        return True
    return None if not answers or None in answers else False
