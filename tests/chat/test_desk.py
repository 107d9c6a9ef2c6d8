"""A chat in motion: asked, answered, stopped, asked again, changed, broken off; and what the shelf has of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.browser.stub import Seen, stub_endpoint

from fitserve.chat.conversation import OnNewPicture
from fitserve.chat.desk import Asked, Desk, Done, Failed, Growing, Step
from fitserve.chat.disk_shelf import DiskShelf
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.images import Picture, prepare_picture
from fitserve.chat.records import Chat
from fitserve.chat.room import Room
from fitserve.chat.shelf import MemoryShelf

KEEP = OnNewPicture.KEEP


@pytest.fixture
def stub() -> Iterator[tuple[str, Seen]]:
    with stub_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def desk(stub: tuple[str, Seen], tmp_path: Path) -> Desk:
    return Desk(Endpoint(stub[0]), DiskShelf(tmp_path / "chats"))


def run(*askings: Callable[[], AsyncGenerator[Step, None]]) -> list[Step]:
    """One after the other; the steps of the last."""

    async def all_steps() -> list[Step]:
        steps: list[Step] = []
        for asking in askings:
            steps = [step async for step in asking()]
        return steps

    return asyncio.run(all_steps())


def picture(name: str) -> Picture:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), name).save(buffer, "PNG")
    return prepare_picture(buffer.getvalue(), f"{name}.png")


def ended(steps: list[Step]) -> Chat:
    assert isinstance(steps[-1], Done | Failed)
    return steps[-1].chat


def test_a_question_and_its_steps(desk: Desk) -> None:
    chat = desk.shelf.create()
    steps = run(lambda: desk.ask(chat.id, "What?", (picture("red"),)))
    assert isinstance(steps[0], Asked)
    assert steps[0].chat.conversation.turns[0].answer == ""
    assert all(isinstance(step, Growing) for step in steps[1:-1])
    turn = ended(steps).conversation.turns[0]
    assert turn.answer == "I see red 64x48 (turn 1). "
    assert (turn.figures.model, turn.figures.finish_reason) == ("stub-vl", "stop")
    assert turn.figures.usage is not None
    assert desk.shelf.load(chat.id).conversation == ended(steps).conversation


def test_a_new_picture_sets_the_old_turns_aside_and_compare_brings_them_back(desk: Desk) -> None:
    chat = desk.shelf.create()
    run(lambda: desk.ask(chat.id, "What?", (picture("red"),)))
    steps = run(lambda: desk.ask(chat.id, "And now?", (picture("blue"),)))
    assert isinstance(steps[0], Asked)
    assert [notice.key for notice in steps[0].notices] == ["chat.set_aside"]
    talk = ended(steps).conversation
    assert [turn.answer for turn in talk.turns][1] == "I see blue 64x48 (turn 1). "
    assert (len(talk.turns), talk.since) == (2, 1)
    talk = ended(run(lambda: desk.compare(chat.id))).conversation
    assert talk.turns[1].answer == "I see red 64x48, blue 64x48 (turn 2). "
    assert (len(talk.turns), talk.since) == (2, 0)


def test_again_and_undo(desk: Desk, stub: tuple[str, Seen]) -> None:
    chat = desk.shelf.create()
    run(lambda: desk.ask(chat.id, "one", ()), lambda: desk.ask(chat.id, "two", ()))
    before = desk.shelf.load(chat.id).conversation
    after = ended(run(lambda: desk.again(chat.id))).conversation
    assert len(stub[1].requests) == 3
    assert stub[1].requests[1]["messages"] == stub[1].requests[2]["messages"]
    assert [turn.question for turn in after.turns] == ["one", "two"]
    assert after.turns[1].key != before.turns[1].key
    assert desk.undo(chat.id).conversation.turns == before.turns
    assert desk.undo(chat.id).conversation.turns == after.turns  # and there again


def test_an_edited_question_takes_the_place_of_what_came_after(desk: Desk) -> None:
    chat = desk.shelf.create()
    asked = [lambda: desk.ask(chat.id, "What?", (picture("red"),)), lambda: desk.ask(chat.id, "Sure?", ())]
    before = ended(run(*asked)).conversation
    after = ended(run(lambda: desk.edit(chat.id, 0, "Which colour?"))).conversation
    assert [(turn.question, turn.answer) for turn in after.turns] == [("Which colour?", "I see red 64x48 (turn 1). ")]
    assert desk.undo(chat.id).conversation.turns == before.turns
    after = ended(run(lambda: desk.edit(chat.id, 0, pictures=()))).conversation
    assert [(turn.question, turn.answer) for turn in after.turns] == [("What?", "I see no picture (turn 1). ")]


def test_a_failure_is_a_step_and_poisons_nothing(desk: Desk) -> None:
    chat = desk.shelf.create()
    steps = run(lambda: desk.ask(chat.id, "one", ()), lambda: desk.ask(chat.id, "too long", ()))
    assert isinstance(steps[-1], Failed)
    assert steps[-1].problem.code == "endpoint_too_long"
    assert [turn.question for turn in ended(steps).conversation.turns] == ["one", "too long"]
    talk = ended(run(lambda: desk.ask(chat.id, "two", ()))).conversation
    assert [(turn.question, turn.answer) for turn in talk.turns][1] == ("two", "I see no picture (turn 2). ")


def test_what_came_before_a_break_is_kept_but_not_sent(desk: Desk) -> None:
    chat = desk.shelf.create()
    steps = run(lambda: desk.ask(chat.id, "break", ()))
    assert isinstance(steps[-1], Failed)
    broken = ended(steps).conversation.turns[0]
    assert (broken.answer, broken.counts) == ("I see no picture (turn 1). ", False)
    talk = ended(run(lambda: desk.ask(chat.id, "hello", ()))).conversation
    assert talk.turns[1].answer == "I see no picture (turn 1). "


async def first_words(desk: Desk, chat_id: str) -> AsyncGenerator[Step, None]:
    steps = desk.ask(chat_id, "slow", ())
    async for step in steps:
        if isinstance(step, Growing) and step.answer.text.count("word") >= 3:
            break
    return steps


async def stopped(desk: Desk, chat_id: str, seen: Seen) -> list[Step]:
    steps = await first_words(desk, chat_id)
    assert desk.stop(chat_id)
    left = [step async for step in steps]
    assert not desk.stop(chat_id)
    await given_up(seen)
    return left


async def left(desk: Desk, chat_id: str, seen: Seen) -> list[Step]:
    await (await first_words(desk, chat_id)).aclose()
    await given_up(seen)
    return []


async def given_up(seen: Seen) -> None:
    async with asyncio.timeout(5):
        while not seen.given_up:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("leave", [stopped, left])
def test_a_stop_keeps_what_came_and_frees_the_engine(
    leave: Callable[[Desk, str, Seen], Awaitable[list[Step]]], desk: Desk, stub: tuple[str, Seen]
) -> None:
    chat = desk.shelf.create()
    steps = asyncio.run(leave(desk, chat.id, stub[1]))  # type: ignore[arg-type]  # a coroutine function
    turn = desk.shelf.load(chat.id).conversation.turns[0]
    assert turn.answer.startswith("word0 word1 word2 ")
    assert (turn.counts, turn.figures.finish_reason) == (True, "")
    if steps:
        assert isinstance(steps[-1], Done)
        assert [notice.key for notice in steps[-1].notices] == ["chat.stopped"]


def test_a_chat_deleted_while_it_answers_does_not_come_back(desk: Desk) -> None:
    async def deleted() -> list[Step]:
        chat = desk.shelf.create()
        steps = await first_words(desk, chat.id)
        desk.delete(chat.id)
        return [step async for step in steps if not isinstance(step, Growing)]

    assert asyncio.run(deleted()) == []
    assert desk.shelf.chats() == ()


def test_nothing_is_written_where_the_history_is_off(
    stub: tuple[str, Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    desk = Desk(Endpoint(stub[0]), MemoryShelf())
    chat = desk.shelf.create()
    talk = ended(run(lambda: desk.ask(chat.id, "What?", (picture("red"),)))).conversation
    assert desk.shelf.load(chat.id).conversation == talk
    assert list(tmp_path.iterdir()) == []


def test_nobody_there_is_told(tmp_path: Path) -> None:
    desk = Desk(Endpoint("http://127.0.0.1:9"), MemoryShelf())
    chat = desk.shelf.create()
    steps = run(lambda: desk.ask(chat.id, "hello", ()))
    assert isinstance(steps[-1], Failed)
    assert steps[-1].problem.code == "endpoint_unreachable"
    assert asyncio.run(desk.meter(chat.id)).window is None


def test_the_window_is_the_plans_or_the_endpoints(desk: Desk, stub: tuple[str, Seen]) -> None:
    chat = desk.shelf.create()
    assert asyncio.run(desk.meter(chat.id)).window == 4096
    planned = Desk(Endpoint(stub[0]), desk.shelf, Room(window=2048))
    assert asyncio.run(planned.meter(chat.id)).window == 2048


def test_the_context_is_cleared_and_freed(desk: Desk) -> None:
    chat = desk.shelf.create()
    run(lambda: desk.ask(chat.id, "one", ()), lambda: desk.ask(chat.id, "two", ()))
    assert desk.start_at(chat.id, 2).conversation.messages() == []
    talk = ended(run(lambda: desk.ask(chat.id, "three", ()))).conversation
    assert talk.turns[2].answer == "I see no picture (turn 1). "
    assert len(talk.turns) == 3
    assert desk.rename(chat.id, "Mine").name == "Mine"
