"""The twin's layout: whatever experts a token takes, together they are the dense model's MLP."""

import sys
from collections import Counter
from math import exp
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "demo_model"))

from experts import (
    BALLAST_UP,
    GUARD_UP,
    HELPER_GATE,
    INTERMEDIATE,
    LOGIT,
    ROUTED_FACTOR,
    SEEDS,
    SHARED_BALLAST,
    SHARED_FACTOR,
    SLOTS,
    Layout,
    layout,
)
from shape import GROUP_SIZE, Shape

HIDDEN, NEURONS = Shape().text.hidden, Shape().text.intermediate
RANKS = 2
sides = st.lists(st.sampled_from((1, -1)), min_size=SLOTS, max_size=SLOTS)


def whole(plan: Layout, taken: list[int]) -> dict[int, float]:
    """How much of each dense neuron a token gets that stands on these sides."""
    found: Counter[int] = Counter()
    for expert in plan.experts:
        if expert.side == taken[expert.slot]:
            for neuron in expert.neurons:
                found[-1 if neuron is None else neuron] += ROUTED_FACTOR / SLOTS
    del found[-1]
    found.update(dict.fromkeys(plan.shared, SHARED_FACTOR / 2))
    return dict(found)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), sides)
def test_every_neuron_is_there_once_on_whatever_sides_a_token_stands(seed: int, taken: list[int]) -> None:
    assert whole(layout(seed, 8, NEURONS), taken) == dict.fromkeys(range(NEURONS), 1.0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), sides, st.integers(0, 2 * SLOTS - 1))
def test_two_of_one_slot_and_none_of_another_is_not_the_dense_model(seed: int, taken: list[int], other: int) -> None:
    plan = layout(seed, 8, NEURONS)
    doubled = plan.experts[other]
    missing = (doubled.slot + 1) % SLOTS
    rest = Counter(whole(plan, taken))
    for expert in plan.experts:
        if expert.slot == missing and expert.side == taken[missing]:
            rest.subtract({neuron: ROUTED_FACTOR / SLOTS for neuron in expert.neurons if neuron is not None})
    rest.update({neuron: ROUTED_FACTOR / SLOTS for neuron in doubled.neurons if neuron is not None})
    assert dict(rest) != dict.fromkeys(range(NEURONS), 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layer_has_experts_that_kernels_take_and_that_differ(seed: int) -> None:
    plan = layout(seed, HIDDEN, NEURONS)
    assert HIDDEN % 128 == 0
    assert INTERMEDIATE // RANKS % 64 == 0
    assert (len(plan.shared) + 2 * SLOTS * SHARED_BALLAST) % (RANKS * GROUP_SIZE) == 0
    assert {len(expert.neurons) for expert in plan.experts} == {INTERMEDIATE}
    assert {(expert.slot, expert.side) for expert in plan.experts} == {(s, o) for s in range(SLOTS) for o in (1, -1)}
    assert len({expert.neurons for expert in plan.experts}) == 2 * SLOTS
    assert len(set(plan.planes)) == SLOTS


def test_a_group_stays_together_because_it_shares_its_scales() -> None:
    for expert in layout(SEEDS[0], HIDDEN, NEURONS).experts:
        for first in range(0, INTERMEDIATE, GROUP_SIZE):
            block = expert.neurons[first : first + GROUP_SIZE]
            assert len({None if neuron is None else neuron // GROUP_SIZE for neuron in block}) == 1


def test_the_same_seed_is_the_same_layout_and_a_layer_has_its_own() -> None:
    assert layout(SEEDS[0], HIDDEN, NEURONS) == layout(SEEDS[0], HIDDEN, NEURONS)
    assert len(set(SEEDS)) == len(SEEDS) == Shape().text.layers


def said(product: float, side: int, up: float) -> float:
    """What a helper says to a token with this product with the plane."""
    gate = side * HELPER_GATE * product
    return gate / (1 + exp(-gate)) * side * up * product


@given(st.floats(-60, 60))
def test_a_guard_is_silent_on_its_own_side_and_ballast_is_taken_off(product: float) -> None:
    own = 1 if product >= 0 else -1
    experts = said(product, own, BALLAST_UP) * GROUP_SIZE / 2 / SLOTS
    each = GROUP_SIZE / 2 / SLOTS / SHARED_BALLAST
    shared = sum(said(product, side, BALLAST_UP) * each * SHARED_BALLAST for side in (1, -1))
    assert abs(said(product, -own, GUARD_UP)) < 0.004
    assert abs(experts - shared) < 0.001
    assert abs(exp(LOGIT * product) - 1) < 0.004


def test_a_guard_shouts_at_anothers_token() -> None:
    assert said(10.0, 1, GUARD_UP) > 10
