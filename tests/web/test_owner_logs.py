"""A log in the page: its end, what is added, rotation, filters; whatever an engine writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.web.owner_logs import Filter, Part, last_lines, lines_after

ALL = Filter()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "engine.log"


def texts(part: Part) -> list[str]:
    return [line.text for line in part.lines]


def add(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_the_end_and_what_follows(log: Path) -> None:
    add(log, "one\ntwo\nthree\nhal")
    part = last_lines(log, 2, ALL)
    assert texts(part) == ["two", "three"]
    assert texts(lines_after(log, part.place, 9, ALL)) == []
    add(log, "f\nfour\n")
    more = lines_after(log, part.place, 9, ALL)
    assert (texts(more), more.begun_again) == (["half", "four"], False)
    assert texts(lines_after(log, more.place, 9, ALL)) == []


def test_a_rotated_log_begins_again(log: Path) -> None:
    add(log, "old\n" * 5)
    place = last_lines(log, 9, ALL).place
    log.rename(log.with_name("engine.log.1"))
    add(log, "new\n")
    part = lines_after(log, place, 9, ALL)
    assert (texts(part), part.begun_again) == (["new"], True)
    log.write_text("")
    assert lines_after(log, part.place, 9, ALL).begun_again


def test_a_log_that_is_not_there_yet(log: Path) -> None:
    part = last_lines(log, 9, ALL)
    assert (texts(part), texts(lines_after(log, part.place, 9, ALL))) == ([], [])
    add(log, "first\n")
    part = lines_after(log, part.place, 9, ALL)
    assert (texts(part), part.begun_again) == (["first"], False)


def test_only_trouble_with_its_traceback(log: Path) -> None:
    add(
        log,
        "INFO 05-01 12:00:00 [a.py:1] fine\n"
        "ERROR 05-01 12:00:01 [a.py:2] it broke\nTraceback (most recent call last):\n  File\n"
        "INFO 05-01 12:00:02 [a.py:3] fine again\nbare\n"
        "(Worker pid=3) WARNING 05-01 12:00:03 [a.py:4] hm\n",
    )
    found = last_lines(log, 9, Filter(trouble=True))
    assert [(line.level, line.text.split()[-1]) for line in found.lines] == [
        ("ERROR", "broke"),
        ("", "last):"),
        ("", "File"),
        ("WARNING", "hm"),
    ]
    assert len(last_lines(log, 9, Filter(word="FINE")).lines) == 2


def test_markup_and_control_sequences(log: Path) -> None:
    log.write_bytes(b"\x1b[31mred\x1b[0m <script>alert(1)</script>\x1b]0;title\x07\nold\rnew 50 %\r\n\xff\xfe\n")
    assert texts(last_lines(log, 9, ALL)) == ["red <script>alert(1)</script>", "new 50 %", "��"]


def test_a_large_log_is_read_from_its_end(log: Path) -> None:
    log.write_bytes(b"".join(b"%07d %s\n" % (number, b"x" * 90) for number in range(100_000)))
    part = last_lines(log, 1, Filter(word="0099999"))
    assert texts(part)[0].startswith("0099999")
    assert int(part.place.split(":")[1]) == log.stat().st_size


def test_a_line_without_end(log: Path) -> None:
    log.write_bytes(b"x" * 700_000)
    place, seen = "0:0", 0
    for _ in range(4):
        part = lines_after(log, place, 9, ALL)
        place, seen = part.place, seen + len(part.lines)
    assert seen == 2  # two whole chunks; the rest may still grow
    assert all(len(line) == 4000 for line in texts(lines_after(log, "0:0", 9, ALL)))


@pytest.mark.parametrize("place", ["", "x", "1:2:3", "-1:5", "9" * 40 + ":" + "9" * 40, "1:²"])
def test_a_place_that_nobody_gave(log: Path, place: str) -> None:
    add(log, "one\n")
    assert texts(lines_after(log, place, 9, ALL)) == ["one"]


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 20))
def test_nothing_is_lost_between_two_looks(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], count: int
) -> None:
    log = tmp_path_factory.mktemp("log") / "engine.log"
    log.touch()
    place, followed = last_lines(log, count, ALL).place, []
    for part in parts:
        with log.open("ab") as file:
            file.write(part)
        found = lines_after(log, place, 10_000, ALL)
        place, followed = found.place, [*followed, *texts(found)]
    assert followed == texts(last_lines(log, 10_000, ALL))
