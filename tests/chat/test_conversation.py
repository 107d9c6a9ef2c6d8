"""What is sent: answered turns, and never an old picture beside a new one unless it was asked for."""

from __future__ import annotations

import dataclasses

import pytest

from fitserve.chat.answer import Answer, Finish, TextDelta
from fitserve.chat.conversation import Conversation, OnNewPicture
from fitserve.chat.images import Picture

RED = Picture("red.png", 8, 8, 8, 8, b"red")
BLUE = Picture("blue.png", 8, 8, 8, 8, b"blue")
START_OVER, KEEP = OnNewPicture.START_OVER, OnNewPicture.KEEP


def said(text: str) -> Answer:
    return Answer().grown(TextDelta(text), 0.1).grown(Finish("stop"), 0.2)


def test_the_first_picture_starts_nothing_over() -> None:
    question = Conversation().ask("What?", (RED,), START_OVER)
    assert not question.started_over
    assert question.messages() == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": RED.data_url}},
                {"type": "text", "text": "What?"},
            ],
        }
    ]


def test_a_second_question_about_the_same_picture_sends_it_again() -> None:
    talk = Conversation(system="Be brief.").ask("What?", (RED,), START_OVER).answered(said("A red square."))
    roles = [message["role"] for message in talk.ask("Sure?", (), START_OVER).messages()]
    assert roles == ["system", "user", "assistant", "user"]
    assert RED.data_url in str(talk.messages())


def test_a_new_picture_leaves_the_old_one_behind() -> None:
    talk = Conversation(system="Be brief.").ask("What?", (RED,), START_OVER).answered(said("A red square."))
    question = talk.ask("And now?", (BLUE,), START_OVER)
    assert question.started_over
    assert RED.data_url not in str(question.messages())
    assert question.messages()[0] == {"role": "system", "content": "Be brief."}
    told = question.answered(said("Blue."))
    assert [turn.question for turn in told.turns] == ["What?", "And now?"]
    assert [turn.question for turn in told.sent] == ["And now?"]


def test_what_was_set_aside_can_be_taken_back() -> None:
    talk = Conversation().ask("What?", (RED,), START_OVER).answered(said("A red square."))
    kept = talk.ask("And now?", (BLUE,), START_OVER).kept()
    assert not kept.started_over
    assert kept.messages() == talk.ask("And now?", (BLUE,), KEEP).messages()
    assert [turn.question for turn in kept.answered(said("Two.")).turns] == ["What?", "And now?"]


def test_keeping_compares_both_pictures() -> None:
    talk = Conversation().ask("What?", (RED,), KEEP).answered(said("Red."))
    text = str(talk.ask("Compare.", (BLUE,), KEEP).messages())
    assert RED.data_url in text
    assert BLUE.data_url in text


def test_a_question_that_failed_leaves_no_trace() -> None:
    talk = Conversation()
    talk.ask("Too long", (RED,), START_OVER)
    assert talk.messages() == []


def test_values_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Conversation().system = "x"  # type: ignore[misc]  # that is the point
