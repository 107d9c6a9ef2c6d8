"""Growth is told where it is there, and not where memory only wanders, jumps once or fills a cache."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitserve.observe.trend import Direction, Trend, trend
from fitserve.units import GIB, MIB

HOUR = 3600.0


def series(value, hours: float = 1.0, every: float = 10.0) -> list[tuple[float, float]]:
    return [(1e9 + second, 20 * GIB + value(second)) for second in range(0, int(hours * HOUR), int(every))]


def leak(per_hour: float):
    return lambda second: per_hour * second / HOUR


def noise(seed: int, size: float):
    source = random.Random(seed)
    return lambda _second: source.gauss(0, size)


def wander(seed: int, memory: float, size: float):
    """Each sample resembles the one before."""
    source, at = random.Random(seed), [0.0]

    def step(_second: float) -> float:
        at[0] = memory * at[0] + source.gauss(0, size)
        return at[0]

    return step


def told(values) -> Counter[Direction]:
    return Counter(trend(series(value)).direction for value in values)


def test_flat_memory_does_not_grow_and_says_how_much_could_hide() -> None:
    found = trend(series(lambda _second: 0))
    assert found.direction is Direction.LEVEL
    assert found.per_hour == 0
    assert found.high == pytest.approx(4 * MIB, rel=0.01)  # two pages in an hour would not be seen


@pytest.mark.parametrize("per_hour", [8 * MIB, 200 * MIB, 5 * GIB])
def test_a_leak_is_measured(per_hour: float) -> None:
    source = noise(1, per_hour / 20)
    found = trend(series(lambda second: leak(per_hour)(second) + source(second)))
    assert found.direction is Direction.GROWING
    assert found.low is not None
    assert found.high is not None
    assert found.low < per_hour < found.high
    assert found.margin is not None
    assert found.margin < per_hour / 4


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_the_interval_holds_the_true_slope_as_often_as_it_says(memory: float) -> None:
    true = 300 * MIB

    def found(seed: int) -> bool:
        walk = wander(seed, memory, 9 * MIB)
        one = trend(series(lambda second: walk(second) + leak(true)(second)))
        return one.low is not None and one.high is not None and one.low <= true <= one.high

    assert 90 <= sum(found(seed) for seed in range(100)) <= 99


def test_a_slow_leak_shows_in_a_long_time() -> None:
    quick, slow = (trend(series(leak(1 * MIB), hours, 60)) for hours in (1, 24))
    assert quick.direction is Direction.LEVEL
    assert slow.direction is Direction.GROWING


def test_noise_is_not_growth() -> None:
    assert told(noise(seed, 100 * MIB) for seed in range(100))[Direction.GROWING] <= 5


def test_wandering_is_not_growth() -> None:
    found = told(wander(seed, 0.97, 3 * MIB) for seed in range(100))
    assert found[Direction.GROWING] <= 5
    assert found[Direction.LEVEL] >= 80


def test_a_leak_is_seen_behind_wandering() -> None:
    def both(seed: int):
        walk = wander(seed, 0.97, 3 * MIB)
        return lambda second: walk(second) + leak(200 * MIB)(second)

    found = told(both(seed) for seed in range(50))
    assert found[Direction.GROWING] >= 40
    assert found[Direction.LEVEL] == found[Direction.SETTLED] == 0


def test_filling_caches_settle() -> None:
    def filling(seed: int):
        source = noise(seed, MIB)
        return lambda second: 500 * MIB * (1 - math.exp(-second / 300)) + source(second)

    found = told(filling(seed) for seed in range(50))
    assert found[Direction.SETTLED] >= 48
    settled = trend(series(lambda second: 500 * MIB * min(1.0, second / 600)))
    assert settled.direction is Direction.SETTLED
    assert settled.per_hour == 0


@settings(max_examples=40)
@given(st.floats(0, HOUR), st.integers(1, 4 * GIB))
def test_one_jump_is_no_leak(at: float, size: int) -> None:
    assert trend(series(lambda second: size if second > at else 0, every=30)).direction is not Direction.GROWING


@pytest.mark.parametrize(
    "points", [[], [(1.0, 5.0)], series(leak(9 * GIB), 0.15), [(0.0, 1.0), (9000.0, 2.0)], [(5.0, 1.0), (5.0, 2.0)]]
)
def test_too_little_is_unknown(points: list[tuple[float, float]]) -> None:
    found = trend(points)
    assert found.direction is Direction.UNKNOWN
    assert found.per_hour is found.margin is None


def test_what_can_hide_a_large_leak_is_unknown_not_level() -> None:
    found = trend(series(wander(3, 1.0, 60 * MIB)))
    assert found.direction is Direction.UNKNOWN


@settings(max_examples=40)
@given(st.floats(-1e6, 1e6), st.integers(0, 2**40))
def test_moving_the_clock_or_the_level_changes_nothing(shift: float, level: int) -> None:
    points = series(lambda second: 10 * MIB * (second % 70) + leak(500 * MIB)(second), every=30)
    moved = [(at + shift, value + level) for at, value in points]
    one, other = trend(points), trend(moved)
    assert one.direction is other.direction
    assert one.per_hour == pytest.approx(other.per_hour, rel=1e-3, abs=MIB / 100)


def test_a_margin_is_the_wider_side() -> None:
    assert Trend(Direction.GROWING, 1.0, 10.0, 7.0, 12.0).margin == 3.0
