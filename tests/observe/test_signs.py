"""What samples say of a running service: growth since its start, cards unlike each other, heat, held-back clocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample
from fitserve.observe.moments import Moment
from fitserve.observe.overview import History, to_document
from fitserve.observe.signs import signs
from fitserve.observe.trend import Direction
from fitserve.units import GIB, MIB
from observe.made_run import made_run, stopped


def only(index: int, **figures):
    """Bends one card."""
    return lambda _second, card: replace(card, **figures) if card.index == index else card


def test_a_healthy_run() -> None:
    found = signs(made_run(), "lead")
    assert found.throttled is found.hot is False
    assert found.balance.uneven == ()
    assert found.cards is not None
    assert [card.growth.direction for card in found.cards] == [Direction.LEVEL] * 2
    assert found.engine_growth.direction is Direction.LEVEL
    assert found.engine_cores == pytest.approx(1.5)
    assert (found.samples, found.seconds) == (120, 1190)


def test_growth_is_told_of_the_card_that_grows() -> None:
    def leaks(second: float, card: CardSample) -> CardSample:
        return replace(card, used_bytes=20 * GIB + int(second * MIB / 4)) if card.index else card

    cards = signs(made_run(change=leaks), "lead").cards
    assert cards is not None
    assert [card.growth.direction for card in cards] == [Direction.LEVEL, Direction.GROWING]
    assert cards[1].growth.per_hour == pytest.approx(900 * MIB)


def test_what_a_start_takes_is_no_growth() -> None:
    def loads(second: float, card: CardSample) -> CardSample:
        return replace(card, used_bytes=int(min(1.0, second / 600) * 20 * GIB))

    moments = made_run(1500, change=loads)
    lived = [stopped(moment) if number < 60 else moment for number, moment in enumerate(moments)]
    found = signs(lived, "lead")
    assert found.seconds == 890
    assert found.cards is not None
    assert found.cards[0].growth.direction is Direction.LEVEL


def test_a_restart_begins_anew() -> None:
    moments = [*made_run(900), *(replace(m, sample=replace(m.sample, at=m.at + 1000)) for m in made_run(100))]
    assert signs(moments, "lead").seconds == 90


def test_a_moment_that_looked_at_cards_only_is_no_restart() -> None:
    moments = [replace(m, services=()) if number % 4 else m for number, m in enumerate(made_run())]
    assert signs(moments, "lead").seconds == 1190
    overview = History(moments).overview(60)
    assert overview.answers
    (one,) = overview.services
    assert one.window is not None
    assert one.window.generation_tokens_s == 50


def test_a_page_that_did_not_come_is_no_restart() -> None:
    moments = made_run()
    for state in ("hung", "starting"):
        silent = replace(moments[60], services=(replace(moments[60].services[0], state=state, metrics=None),))
        assert signs([*moments[:60], silent, *moments[61:]], "lead").seconds == 1190


def test_an_engine_that_had_counted_nothing_is_another_after_it_was_away() -> None:
    fresh = [replace(m, services=made_run(10)[0].services) for m in made_run()]
    assert signs([*fresh[:60], stopped(fresh[60]), *fresh[61:]], "lead").seconds == 580


@pytest.mark.parametrize(
    ("figures", "uneven"),
    [
        ({"used_bytes": 15 * GIB}, ("memory",)),
        ({"busy_percent": 40}, ("load",)),
        ({"sm_clock_mhz": 1200}, ("clock",)),
        ({"used_bytes": 21 * GIB - 300 * MIB, "busy_percent": 90, "sm_clock_mhz": 1650}, ()),
    ],
)
def test_cards_unlike_each_other(figures: dict[str, int], uneven: tuple[str, ...]) -> None:
    assert signs(made_run(change=only(1, **figures)), "lead").balance.uneven == uneven


@pytest.mark.parametrize(
    ("figures", "throttled", "hot"),
    [
        ({"slow_reasons": ("power_cap",)}, False, False),  # at its limit, as it should be under load
        ({"slow_reasons": ("hardware_thermal",)}, True, True),
        ({"slow_reasons": ("power_brake", "idle")}, True, False),
        ({"temperature_c": 93}, False, True),
        ({"temperature_c": 93, "slows_down_at_c": None}, False, False),
        ({"temperature_c": None, "slow_reasons": None}, None, None),
    ],
)
def test_heat_and_clocks(figures: dict[str, object], throttled: bool | None, hot: bool | None) -> None:
    found = signs(made_run(change=only(0, **figures)), "lead")
    assert (found.throttled, found.hot) == (throttled, hot)


def test_shares_of_the_time() -> None:
    def now_and_then(second: float, card: CardSample) -> CardSample:
        return replace(card, slow_reasons=("power_cap",) if second % 40 == 0 else ("idle",))

    cards = signs(made_run(change=now_and_then), "lead").cards
    assert cards is not None
    assert cards[0].slowed == {"power_cap": 0.25}


def test_unknown_stays_unknown() -> None:
    nothing = signs([replace(m, sample=replace(m.sample, cards=None)) for m in made_run()], "lead")
    assert nothing.cards is nothing.throttled is nothing.hot is nothing.balance.uneven is None
    silent = signs(made_run(change=lambda _second, card: CardSample(card.index)), "lead")
    assert silent.cards is not None
    assert silent.throttled is silent.hot is silent.balance.uneven is None
    assert silent.cards[0].growth.direction is Direction.UNKNOWN
    assert signs([], "lead").cards is None


def test_a_service_is_judged_by_its_own_cards() -> None:
    moments = [
        replace(m, services=(replace(m.services[0], cards=(0,)),))
        for m in made_run(change=only(1, used_bytes=GIB, slow_reasons=("hardware_thermal",)))
    ]
    found = signs(moments, "lead")
    assert found.balance.uneven is None
    assert found.hot is False
    assert signs(moments).hot is True


def test_a_long_history_stays_small_and_whole() -> None:
    history = History([Moment(Sample(float(second), None, HostSample())) for second in range(20_000)])
    times = [moment.at for moment in history.moments]
    assert len(times) <= 2000
    assert (times[0], times[-1]) == (0, 19_999)
    assert times == sorted(times)


def test_a_clock_set_back_begins_a_new_history() -> None:
    history = History(made_run(100))
    history.add(made_run(10)[0])
    assert len(history.moments) == 1
    assert signs([*made_run(100), *made_run(50)], "lead").samples == 5


def test_the_document_has_the_figures() -> None:
    document = to_document(History(made_run()).overview(60))
    assert document["kind"] == "watch"
    (figures,) = document["figures"]
    assert figures["window"]["generation_tokens_s"] == 50
    assert figures["window"]["first_token"]["p50"] == {
        "guess": pytest.approx(0.19375),
        "at_least": 0.1,
        "at_most": 0.25,
    }
    assert figures["signs"]["cards"][1]["growth"]["direction"] == "level"
