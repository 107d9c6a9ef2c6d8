"""What fills the window: exact where it is counted, marked where it is guessed, and never cut without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat.given import BLUE, RED, answer

from fitserve.chat.conversation import Conversation, OnNewPicture
from fitserve.chat.meter import PartKind, meter, text_tokens
from fitserve.chat.room import Room, room_of_plan
from fitserve.facts.picture_rule import PictureRule

KEEP = OnNewPicture.KEEP
RULE = PictureRule(cell=32, min_pixels=65_536, max_pixels=16_777_216)
ROOM = Room(window=4096, pictures=4, rule=RULE)
LARGE = replace(RED, width=1024, height=768)


def talk(*turns: tuple[int, int], pictures: bool = True) -> Conversation:
    """Turns with the endpoint's own counts of each (prompt, completion)."""
    told = Conversation(system="Be brief.")
    for number, counts in enumerate(turns):
        told = told.ask(f"question {number}", (LARGE,) if pictures else (), KEEP).answered(
            answer("An answer.", *counts)
        )
    return told


def test_an_empty_chat_holds_the_reserve_only() -> None:
    found = meter(Conversation(), ROOM)
    assert (found.used, found.reserve, found.estimated, found.nearly_full) == (0, 1024, False, False)


def test_a_draft_is_an_estimate_and_its_picture_is_not() -> None:
    found = meter(Conversation(), ROOM, "What is in this picture?", (LARGE,))
    parts = {part.kind: part for part in found.parts}
    assert (parts[PartKind.PICTURE].tokens, parts[PartKind.PICTURE].estimated) == (32 * 24 + 2, False)
    assert parts[PartKind.DRAFT].estimated
    assert found.estimated


def test_a_picture_is_a_guess_where_the_rule_is_not_known() -> None:
    picture = replace(LARGE, tokens=None)
    assert meter(Conversation(), Room(), "", (picture,)).parts[0].estimated
    assert meter(Conversation(), Room(), "", (replace(picture, tokens=9),)).parts[0].tokens == 9


def test_what_the_endpoint_counted_is_the_sum() -> None:
    found = meter(talk((800, 10), (1620, 25)), ROOM)
    assert (found.used, found.counted, found.estimated) == (1645, True, False)
    pictures = [part for part in found.parts if part.kind is PartKind.PICTURE]
    assert [(part.tokens, part.turn, part.name) for part in pictures] == [(770, 0, "red.png"), (770, 1, "red.png")]


@pytest.mark.parametrize(
    "told",
    [
        talk((800, 10), (1620, 25)).starting_at(1),  # the count was of another context
        talk((800, 10), (12, 1)),  # less than its pictures alone: another model's count
        replace(talk((800, 10)), turns=()),
    ],
)
def test_a_count_of_something_else_is_not_used(told: Conversation) -> None:
    found = meter(told, ROOM)
    assert not found.counted
    assert found.estimated == bool(found.used)


def test_thinking_is_not_counted_twice() -> None:
    told = talk((800, 500))
    told = replace(told, turns=(replace(told.turns[0], thinking="long " * 100),))
    assert meter(told, ROOM).used == 800 + text_tokens("An answer.")


def test_near_the_end_the_oldest_turns_are_offered_up() -> None:
    told = talk((800, 10), (1620, 25), (2440, 25), (3260, 25))
    found = meter(told, ROOM)
    assert found.nearly_full
    since = found.since_after_drop()
    assert since == 1
    assert not meter(told.starting_at(since), ROOM).nearly_full
    assert len(told.turns) == 4  # offered, not done


def test_more_pictures_than_one_question_may_carry_are_offered_up_too() -> None:
    told = talk((800, 10), (1620, 25))
    found = meter(told, replace(ROOM, window=32_768, pictures=2), "", (LARGE,))
    assert (found.pictures, found.nearly_full, found.since_after_drop()) == (3, True, 1)
    assert not meter(told, replace(ROOM, window=32_768, pictures=3), "", (LARGE,)).nearly_full


def test_nothing_is_offered_where_nothing_helps() -> None:
    found = meter(Conversation(), Room(window=600, rule=RULE), "", (LARGE,))
    assert (found.nearly_full, found.since_after_drop(), found.fits) == (True, None, False)


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 300)), max_size=5), st.booleans(), st.integers(0, 6))
def test_parts_add_up(turns: list[tuple[int, int]], pictures: bool, since: int) -> None:
    told = talk(*turns, pictures=pictures).starting_at(since)
    found = meter(told, ROOM, "draft", (BLUE,))
    assert all(part.tokens >= 0 for part in found.parts)
    if found.counted:
        assert found.used == sum(turns[-1]) + sum(part.tokens for part in found.parts[-3:-1])
    drop = found.since_after_drop()
    if drop is not None:
        assert since < drop <= len(turns)


def test_letters_of_both_languages() -> None:
    assert text_tokens("") == 0
    assert text_tokens("What is in this picture?") == 6
    assert text_tokens("这张图里有什么？") == 6


def test_a_plan_tells_the_room() -> None:
    plan: dict[str, object] = {
        "settings": {"max_model_len": 2048, "limit_mm_per_prompt": {"image": {"count": 2, "width": 9}, "video": 0}},
        "pictures": {"cell": 32, "min_pixels": 65_536, "max_pixels": 1_048_576, "marks": 2},
    }
    room = room_of_plan(plan)
    assert room == Room(2048, 2, PictureRule(32, 65_536, 1_048_576))
    assert (room.limits.tokens, room.limits.most_tokens, room.limits.longest_side) == (512, 1536, 1024)
    plan["settings"] = {
        "max_model_len": 32_768,
        "max_num_batched_tokens": 512,
        "limit_mm_per_prompt": {"image": {"count": 2, "width": 1024, "height": 768}},
    }
    assert room_of_plan(plan).limits.most_tokens == 770
    assert room_of_plan({}) == Room()
    assert room_of_plan({"settings": None, "pictures": {"cell": "x"}}) == Room()
    assert Room().limits.tokens is None
