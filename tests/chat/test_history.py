"""Chats on the disk: what goes in comes out, whatever is cut off, interleaved or deleted meanwhile."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chat.given import BLUE, RED, answer

from fitserve.chat.conversation import Conversation, OnNewPicture, Question
from fitserve.chat.disk_shelf import DiskShelf
from fitserve.chat.records import Asked, Chat, Moved, Titled, Undone, answered, asked, folded, from_lines, to_line
from fitserve.chat.said import ChatMissing, HistoryUnwritable
from fitserve.chat.shelf import MemoryShelf, Shelf
from fitserve.clock import ManualClock

KEEP, START_OVER = OnNewPicture.KEEP, OnNewPicture.START_OVER
Make = Callable[[], Shelf]


@pytest.fixture(params=["disk", "memory"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    return DiskShelf(tmp_path / "chats") if request.param == "disk" else MemoryShelf()


def told(shelf: Shelf, chat_id: str, question: Question, text: str, key: str) -> Conversation:
    """Ask and answer on the shelf, as the desk does."""
    question = replace(question, turn=replace(question.turn, key=key))
    shelf.append(chat_id, asked(question), question.turn.pictures)
    after = question.answered(answer(text), "m")
    shelf.append(chat_id, answered(after.turns[-1]))
    return after


def test_what_goes_in_comes_out(shelf: Shelf) -> None:
    chat = shelf.create("Be brief.")
    talk = told(shelf, chat.id, chat.conversation.ask("What?", (RED,), KEEP), "Red.", "a")
    talk = told(shelf, chat.id, talk.ask("And now?", (BLUE, RED), KEEP), "Both.", "b")
    found = shelf.load(chat.id)
    assert found.conversation == talk
    assert found.conversation.messages() == talk.messages()
    assert found.name == "What?"
    assert shelf.picture(chat.id, RED.digest) == RED.data
    assert shelf.picture(chat.id, "0" * 64) is None


def test_titles_and_order(tmp_path: Path) -> None:
    clock = ManualClock(1000.0)
    shelf = DiskShelf(tmp_path / "chats", clock)
    first = shelf.create()
    clock.sleep(5)
    second = shelf.create()
    assert [chat.id for chat in shelf.chats()] == [second.id, first.id]
    clock.sleep(5)
    shelf.append(first.id, Titled(title="苹果 🍎"))
    assert [(chat.name, chat.created, chat.updated) for chat in shelf.chats()] == [
        ("苹果 🍎", 1000.0, 1010.0),
        ("", 1005.0, 1005.0),
    ]


def test_a_deleted_chat_is_gone_with_its_pictures(shelf: Shelf) -> None:
    chat, other = shelf.create(), shelf.create()
    told(shelf, chat.id, Conversation().ask("?", (RED,), KEEP), "!", "a")
    told(shelf, other.id, Conversation().ask("?", (RED,), KEEP), "!", "a")
    shelf.delete(chat.id)
    assert [kept.id for kept in shelf.chats()] == [other.id]
    assert shelf.picture(other.id, RED.digest) == RED.data
    for gone in (shelf.load, shelf.delete, lambda chat_id: shelf.append(chat_id, Undone())):
        with pytest.raises(ChatMissing):
            gone(chat.id)


def test_nothing_is_left_of_a_deleted_chat(tmp_path: Path) -> None:
    shelf = DiskShelf(tmp_path / "chats")
    chat = shelf.create()
    told(shelf, chat.id, Conversation().ask("?", (RED,), KEEP), "!", "a")
    shelf.delete(chat.id)
    assert list((tmp_path / "chats").iterdir()) == []


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    shelf = DiskShelf(tmp_path / "chats")
    chat = shelf.create()
    told(shelf, chat.id, Conversation().ask("?", (RED,), KEEP), "!", "a")
    paths = [tmp_path / "chats", *(tmp_path / "chats").rglob("*")]
    assert len(paths) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o700, 0o600}


@pytest.mark.parametrize("chat_id", ["", ".", "..", "../chats", "a/b", "%2e%2e", "ab", "A" * 24, "0" * 24, "a\0b"])
def test_an_id_leads_nowhere_else(shelf: Shelf, chat_id: str) -> None:
    with pytest.raises(ChatMissing):
        shelf.load(chat_id)
    with pytest.raises(ChatMissing):
        shelf.delete(chat_id)
    chat = shelf.create()
    assert shelf.picture(chat.id, f"../{chat_id}/turns.jsonl") is None


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_a_crash_in_the_middle_of_a_line_costs_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("chats")
    shelf = DiskShelf(folder)
    chat = shelf.create()
    talk = told(shelf, chat.id, Conversation().ask("first", (RED,), KEEP), "one", "a")
    told(shelf, chat.id, talk.ask("第二", (), KEEP), "two", "b")
    lines = folder / chat.id / "turns.jsonl"
    whole = lines.read_bytes()
    first = whole.index(b"\n") + 1
    lines.write_bytes(whole[: first + cut % (len(whole) - first)])
    before = DiskShelf(folder).load(chat.id).conversation
    after = told(DiskShelf(folder), chat.id, before.ask("again", (), KEEP), "three", "c")
    assert DiskShelf(folder).load(chat.id).conversation.messages() == after.messages()
    assert after.turns[-1].answer == "three"


def test_a_lost_picture_is_named_and_not_sent(tmp_path: Path) -> None:
    shelf = DiskShelf(tmp_path / "chats")
    chat = shelf.create()
    told(shelf, chat.id, Conversation().ask("?", (RED,), KEEP), "!", "a")
    (tmp_path / "chats" / chat.id / "pictures" / RED.digest).unlink()
    found = shelf.load(chat.id).conversation
    assert (found.turns[0].pictures[0].name, found.turns[0].pictures[0].data) == ("red.png", b"")
    assert "image_url" not in json.dumps(found.messages())


def test_two_servers_write_one_chat(tmp_path: Path) -> None:
    """Whole lines, all of them, whoever wrote them."""
    chat = DiskShelf(tmp_path).create()
    code = (
        "import sys; from pathlib import Path; from fitserve.chat.disk_shelf import DiskShelf\n"
        "from fitserve.chat.records import Titled\n"
        "shelf = DiskShelf(Path(sys.argv[1]))\n"
        "for number in range(200): shelf.append(sys.argv[2], Titled(title=f'{sys.argv[3]}{number} ' + 'x' * 9000))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), chat.id, name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines = (tmp_path / chat.id / "turns.jsonl").read_bytes().splitlines()
    titles = [json.loads(line)["title"] for line in lines[1:]]
    assert len(titles) == 400
    for name in "ab":
        assert [title.split()[0] for title in titles if title[0] == name] == [f"{name}{n}" for n in range(200)]


def test_a_disk_that_takes_nothing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "chats"
    file.write_text("in the way")
    with pytest.raises(HistoryUnwritable) as caught:
        DiskShelf(file).create()
    assert (caught.value.exit_code, bool(caught.value.hint)) == (1, True)
    assert str(file) in caught.value.evidence
    assert DiskShelf(file).chats() == ()


def test_memory_forgets_the_oldest() -> None:
    shelf = MemoryShelf(most=2)
    made = [shelf.create().id for _ in range(3)]
    assert {chat.id for chat in shelf.chats()} == set(made[1:])


def test_lines_of_a_later_version_are_passed_over() -> None:
    lines = b'{"kind":"reaction","at":1}\n[]\nnull\n\xff\n{"kind":"title","title":"T","at":2,"new":1}\n{"kind":"title"'
    assert folded("x", from_lines(lines), lambda _digest: None) == Chat("x", "T", 2.0, 2.0)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.text(max_size=8), st.sampled_from([(), (RED,), (RED, BLUE)]), st.booleans()),
        st.tuples(st.just("edit"), st.text(max_size=8), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("undo"), st.none(), st.none(), st.none()),
        st.tuples(st.just("since"), st.none(), st.integers(-2, 9), st.none()),
        st.tuples(st.just("silence"), st.text(max_size=8), st.none(), st.none()),
    ),
    max_size=12,
)


@given(ACTIONS)
@settings(max_examples=60, deadline=None)
def test_the_lines_add_up_to_what_was_done(actions: list[tuple[str, str, object, bool]]) -> None:
    """Questions, changed questions, undone answers, moved contexts, in any order: the values and the file agree."""
    shelf = MemoryShelf()
    chat_id, talk = shelf.create().id, Conversation()
    for number, (kind, text, value, flag) in enumerate(actions):
        key = f"k{number}"
        if kind == "ask":
            assert isinstance(value, tuple)
            talk = told(shelf, chat_id, talk.ask(text, value, KEEP if flag else START_OVER), text, key)
        elif kind == "edit" and talk.turns:
            assert isinstance(value, int)
            talk = told(shelf, chat_id, talk.edited(value % len(talk.turns), text), "x" * flag, key)
        elif kind == "undo":
            shelf.append(chat_id, Undone())
            talk = talk.undone()
        elif kind == "since":
            assert isinstance(value, int)
            shelf.append(chat_id, Moved(since=value))
            talk = talk.starting_at(value)
        elif kind == "silence":
            question = talk.ask(text, (), KEEP)
            shelf.append(chat_id, asked(replace(question, turn=replace(question.turn, key=key))))
            talk = shelf.load(chat_id).conversation
            assert talk.messages() == question.before.messages()
        assert shelf.load(chat_id).conversation.messages() == talk.messages()
        assert [turn.question for turn in shelf.load(chat_id).conversation.turns] == [t.question for t in talk.turns]


@given(st.text(), st.text(), st.integers(), st.integers())
def test_any_record_becomes_one_line_and_comes_back(key: str, question: str, at_turn: int, since: int) -> None:
    record = Asked(key=key, question=question, pictures=[], at_turn=at_turn, since=since)
    line = to_line(record)
    assert line.count(b"\n") == 1
    assert from_lines(line) == [record]


def test_half_a_character_does_not_break_a_line() -> None:
    assert from_lines(to_line(Titled(title="\ud83d a"))) == [Titled(title="? a")]
