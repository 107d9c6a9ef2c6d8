"""What a reader sees, step by step, without a page: against the endpoint that looks at its pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from tests.browser.stub import COLOURS, Seen, stub_endpoint

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.ongoing import Ongoing
from fitserve.web.talk import Desk, Draft, Kind, Talk
from fitserve.web.view import header, messages, notice_line

START_OVER, KEEP = OnNewPicture.START_OVER, OnNewPicture.KEEP
Picture = Callable[[str], Path]


@pytest.fixture
def stub() -> Iterator[tuple[str, Seen]]:
    with stub_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def desk(stub: tuple[str, Seen]) -> Desk:
    return Desk(Endpoint(stub[0]), Ongoing())


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    def make(colour: str) -> Path:
        path = tmp_path / f"{colour}.png"
        Image.new("RGB", (32, 16), COLOURS[colour]).save(path)
        return path

    return make


async def states(stream: AsyncIterator[Talk]) -> list[Talk]:
    return [talk async for talk in stream]


def ask(desk: Desk, talk: Talk, text: str, *files: Path, policy: OnNewPicture = START_OVER) -> Talk:
    return asyncio.run(states(desk.ask(talk, Draft(text, files), policy, "reader", "en")))[-1]


def keys(talk: Talk) -> list[str]:
    return [notice.key for notice in talk.notices]


def test_a_question_grows_into_an_answer(desk: Desk, picture: Picture) -> None:
    talks = asyncio.run(states(desk.ask(Talk(), Draft("What?", (picture("red"),)), START_OVER, "r", "en")))
    assert [talk.busy for talk in talks[:2]] == [True, True]
    last = talks[-1]
    assert not last.busy
    assert [bubble.kind for bubble in last.bubbles] == [Kind.QUESTION, Kind.ANSWER]
    assert last.bubbles[-1].text.strip() == "I see red 32x16 (turn 1)."
    assert len(last.conversation.turns) == 1
    assert len(desk.ongoing) == 0


def test_a_new_picture_and_the_way_back(desk: Desk, picture: Picture) -> None:
    first = ask(desk, Talk(), "What?", picture("red"))
    second = ask(desk, first, "And now?", picture("blue"))
    assert second.can_bring_back
    assert keys(second) == ["web.started_over"]
    assert [bubble.text.strip() for bubble in second.bubbles] == ["And now?", "I see blue 32x16 (turn 1)."]
    back = asyncio.run(states(desk.bring_back(second, "reader")))[-1]
    assert not back.can_bring_back
    assert back.bubbles[-1].text.strip() == "I see red 32x16, blue 32x16 (turn 2)."
    assert [bubble.kind for bubble in back.bubbles] == [Kind.QUESTION, Kind.ANSWER] * 2
    assert asyncio.run(states(desk.bring_back(back, "reader"))) == [back]


def test_keeping_starts_nothing_over(desk: Desk, picture: Picture) -> None:
    first = ask(desk, Talk(), "What?", picture("red"))
    second = ask(desk, first, "And now?", picture("blue"), policy=KEEP)
    assert not second.can_bring_back
    assert "turn 2" in second.bubbles[-1].text


def test_nothing_asked_changes_nothing(desk: Desk) -> None:
    assert ask(desk, Talk(), "  ") == Talk()


def test_a_refused_picture_gives_the_draft_back(desk: Desk, tmp_path: Path, stub: tuple[str, Seen]) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"")
    talk = ask(desk, Talk(), "What?", path)
    assert keys(talk) == ["chat.picture_empty", "chat.picture_next"]
    assert talk.draft == Draft("What?", (path,))
    assert talk.bubbles == ()
    assert stub[1].requests == []


def test_under_a_refusal_no_older_figures_stand(desk: Desk, picture: Picture, tmp_path: Path) -> None:
    talk = ask(desk, Talk(), "What?", picture("red"))
    assert "figures" in notice_line(talk, "en")
    path = tmp_path / "x.png"
    path.write_bytes(b"")
    refused = ask(desk, talk, "What?", path)
    assert "figures" not in notice_line(refused, "en")


def test_a_failure_is_a_bubble_and_leaves_no_turn(desk: Desk) -> None:
    talk = ask(desk, Talk(), "too long")
    assert talk.bubbles[-1].kind is Kind.PROBLEM
    assert talk.conversation.turns == ()
    assert talk.draft == Draft("too long")
    content = str(messages(talk, "zh")[-1]["content"])
    assert "上下文长度" in content
    assert "maximum context length" in content
    assert "下一步" in content


def test_nobody_there_is_a_bubble_too() -> None:
    talk = ask(Desk(Endpoint("http://127.0.0.1:9"), Ongoing()), Talk(), "hello")
    assert [bubble.said[0].key for bubble in talk.bubbles[1:]] == ["chat.endpoint_unreachable"]


async def stopping(desk: Desk, text: str, words: int, end: Callable[[str], bool]) -> Talk:
    """Ask, and end it once so many words have come."""
    talk, ended = Talk(), False
    async for talk in desk.ask(Talk(), Draft(text), START_OVER, "reader", "en"):
        come = talk.bubbles[-1].text.count("word") if talk.bubbles else 0
        if not ended and come >= words and len(desk.ongoing):
            ended = end("reader")
    return talk


def test_a_stop_keeps_what_came(desk: Desk) -> None:
    talk = asyncio.run(stopping(desk, "slow", 3, desk.ongoing.stop))
    assert keys(talk) == ["chat.stopped"]
    assert talk.conversation.turns[0].answer.startswith("word0 word1")


def test_a_clear_in_the_middle_leaves_nothing(desk: Desk) -> None:
    talk = asyncio.run(stopping(desk, "slow", 3, desk.ongoing.drop))
    assert keys(talk) == ["web.cleared"]
    assert (talk.bubbles, talk.conversation.turns) == ((), ())


def test_thinking_has_its_own_bubble(desk: Desk) -> None:
    talk = ask(desk, Talk(), "think")
    assert [bubble.kind for bubble in talk.bubbles] == [Kind.QUESTION, Kind.THINKING, Kind.ANSWER]
    assert messages(talk, "en")[1]["metadata"] == {"title": "Thinking", "status": "done"}


def test_notices_are_no_markup(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x onerror=alert(1)>.png"
    Image.new("RGB", (2000, 1000)).save(path)
    line = notice_line(ask(desk, Talk(), "What?", path), "en")
    assert "<img" not in line
    assert "2000x1000 -&gt; 1024x512" in line
    assert "<img" not in header("<img>", "http://h", True, "en")
