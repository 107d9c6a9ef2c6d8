"""A seed is a scene: always the same one, and always within the world's bounds."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from fitserve.demo.outline import area_share
from fitserve.demo.world import DIGIT_SHARE, OBJECT_SHARE, PLACES, SHAPES, SIDE_PX, Scene, draw_scene

seeds = st.integers(0, 2**48)


def scene(seed: int) -> Scene:
    return draw_scene(Random(seed))


@given(seeds)
def test_a_seed_is_always_the_same_scene(seed: int) -> None:
    assert scene(seed) == scene(seed)


@given(seeds)
def test_sizes_stay_in_bounds(seed: int) -> None:
    drawn = scene(seed)
    short, long = sorted((drawn.width, drawn.height))
    assert SIDE_PX[0] <= short <= long <= SIDE_PX[1]
    assert long <= 2 * short + 1
    assert 1 <= len(drawn.items) <= 4
    for item in drawn.items:
        assert OBJECT_SHARE[0] * short - 1e-6 <= item.size <= OBJECT_SHARE[1] * short
    if drawn.digit:
        assert DIGIT_SHARE[0] * short - 1e-6 <= drawn.digit.size <= DIGIT_SHARE[1] * short


@given(seeds)
def test_nothing_overlaps_and_every_place_is_used_once(seed: int) -> None:
    drawn = scene(seed)
    things = [*drawn.items, *([drawn.digit] if drawn.digit else [])]
    assert len({thing.place for thing in things}) == len(things)
    for index, one in enumerate(things):
        for other in things[:index]:
            apart = max(abs(one.x - other.x), abs(one.y - other.y))
            assert apart >= (one.size + other.size) / 2


@given(seeds)
def test_a_thing_stands_where_its_place_says(seed: int) -> None:
    drawn = scene(seed)
    for item in drawn.items:
        x, y = item.x / drawn.width, item.y / drawn.height
        if item.place == "centre":
            assert abs(x - 0.5) < 0.06 and abs(y - 0.5) < 0.06
        else:
            assert (x < 0.5, y < 0.5) == ("left" in item.place, "top" in item.place)


@settings(max_examples=30)
@given(seeds)
def test_a_wanted_size_is_kept(seed: int) -> None:
    drawn = draw_scene(Random(seed), (320, 192))
    assert (drawn.width, drawn.height) == (320, 192)


def test_the_whole_world_turns_up() -> None:
    drawn = [scene(seed) for seed in range(300)]
    assert {item.shape for each in drawn for item in each.items} == set(SHAPES)
    assert {item.place for each in drawn for item in each.items} == set(PLACES)
    assert {each.digit.value for each in drawn if each.digit} == set(range(10))
    assert {each.background.kind for each in drawn} == {"plain", "gradient", "noise", "stripes"}


def test_areas_fit_their_boxes() -> None:
    assert all(0.2 < area_share(shape) < 0.85 for shape in SHAPES)
