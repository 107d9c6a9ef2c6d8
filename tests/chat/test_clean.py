"""Nothing a model writes can move the cursor, set a title or reorder a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.chat.clean import ControlFilter, strip_control

SEQUENCES = ["\x1b[31m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1bP1$r\x1b\\", "\x1b(B", "\x1bc"]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_sequences_go_whole(sequence: str) -> None:
    assert strip_control(f"a{sequence}b") == "ab"
    for cut in range(1, len(sequence)):
        stream = ControlFilter()
        assert stream.feed("a" + sequence[:cut]) + stream.feed(sequence[cut:] + "b") == "ab"


def test_lines_tabs_and_chinese_stay() -> None:
    assert strip_control("行一\n\t行二 é 🙂") == "行一\n\t行二 é 🙂"
    assert strip_control("a\rb\x9bc\u202ed") == "abcd"


def test_a_sequence_that_never_ends_is_not_collected() -> None:
    stream = ControlFilter()
    for _ in range(3):
        stream.feed("\x1b]" + "x" * 5000)
    assert stream.feed("after") == "after"


@given(st.lists(st.sampled_from([*SEQUENCES, "a", "\x1b", "\x1b[", "\x1b]", "\x07", "\n", "字", "\x9d"]), max_size=20))
def test_no_control_character_comes_through(pieces: list[str]) -> None:
    stream = ControlFilter()
    shown = "".join(stream.feed(piece) for piece in pieces) + strip_control("".join(pieces))
    assert not [char for char in shown if (ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160]
