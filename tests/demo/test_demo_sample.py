"""Samples: a picture as a file, a question, a right answer; by seed."""

from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fitserve.demo import KINDS, LANGUAGES, Kind, Language, sample
from fitserve.demo.phrasings import HELD_OUT, PHRASINGS
from fitserve.demo.sample import TRAINING_SEEDS
from fitserve.demo.words import SAID, ZH
from fitserve.demo.world import COLOURS, PLACES, SHAPES


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(LANGUAGES), st.sampled_from(KINDS), st.integers(0, HELD_OUT))
def test_the_known_answer_is_right(seed: int, language: Language, kind: Kind, phrasing: int) -> None:
    drawn = sample(seed, language, kind, phrasing)
    assert drawn.question.kind == kind
    assert drawn.is_right(drawn.question.answer)
    assert "{" not in drawn.question.text + drawn.question.answer


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_another_pictures_answer_is_wrong_unless_it_says_the_same(seed: int) -> None:
    one, other = sample(seed, "en", "place", 0), sample(seed + 1, "en", "place", 0)
    if one.question.facts != other.question.facts and other.question.facts.said:
        assert not one.is_right(other.question.answer)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_ones() -> None:
    drawn = [sample(seed) for seed in range(20)]
    assert [each.image_bytes for each in drawn] == [sample(seed).image_bytes for seed in range(20)]
    assert len({each.image_bytes for each in drawn}) == 20


def test_a_seeds_picture_is_the_same_in_every_language_and_phrasing() -> None:
    pictures = {sample(5, language, "count", phrasing).image_bytes for language in LANGUAGES for phrasing in range(5)}
    assert len(pictures) == 1


@pytest.mark.parametrize("seed", range(8))
def test_the_files_are_what_they_say(seed: int) -> None:
    drawn = sample(seed)
    image = Image.open(BytesIO(drawn.image_bytes))
    assert image.format == drawn.image_format
    assert image.size == drawn.image.size == (drawn.scene.width, drawn.scene.height)
    assert drawn.mime_type in ("image/png", "image/jpeg")


def test_objects_are_drawn_in_their_colour_where_they_stand() -> None:
    for seed in range(30):
        drawn = sample(seed)
        for item in drawn.scene.items:
            if item.shape in ("circle", "square"):
                red, green, blue = drawn.image.getpixel((round(item.x), round(item.y)))  # type: ignore[misc]
                assert (max(red, green, blue) < 60) == (item.colour == "black")
                assert (min(red, green, blue) > 220) == (item.colour == "white")


def test_nobody_draws_training_seeds_by_accident() -> None:
    assert TRAINING_SEEDS.start > 2**32


def test_phrasings_are_five_and_unlike() -> None:
    for language in LANGUAGES:
        for kind in KINDS:
            assert len(set(PHRASINGS[language][kind])) == 5


def test_everything_has_a_name_in_both_languages() -> None:
    words = {*SHAPES, *COLOURS, *PLACES}
    assert set(ZH) == set(SAID) == words
