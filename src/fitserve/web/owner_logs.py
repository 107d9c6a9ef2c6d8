"""A log for the page: its last lines, then what is added; all, the lines that tell of trouble, or those with a word."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fitserve.cli.shown import plain
from fitserve.observe.log.lines import parse

_CHUNK = 256 * 1024
_LOOKED_AT = 8 * 1024 * 1024  # bytes from the end, where few lines match
_LONGEST = 4000  # characters of a line
_TROUBLE = ("WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True)
class Filter:
    """`trouble`: only warnings, errors and the bare lines that follow them (tracebacks); `word` in any case."""

    trouble: bool = False
    word: str = ""


@dataclass(frozen=True)
class Line:
    """A line without control sequences. `level` is "" for bare output."""

    level: str
    text: str


@dataclass(frozen=True)
class Part:
    """Lines in order, and the place to go on from. `begun_again`: the log was rotated or cut since then."""

    lines: tuple[Line, ...]
    place: str  # "INODE:OFFSET"
    begun_again: bool = False


def last_lines(path: Path, count: int, keep: Filter) -> Part:
    """The last lines that pass the filter. An absent log is an empty one."""
    try:
        with path.open("rb") as file:
            begin = max(0, file.seek(0, os.SEEK_END) - _LOOKED_AT)
            file.seek(begin)
            block, inode = file.read(), os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return Part((), "0:0")
    first = block.find(b"\n") + 1 if begin else 0
    end = block.rfind(b"\n") + 1  # the last line may still be written
    lines = block[first:end].split(b"\n")[:-1]
    if keep == Filter():
        lines = lines[max(0, len(lines) - count) :]
    return Part(tuple(deque(passed(lines, keep), maxlen=count)), f"{inode}:{begin + end}")


def lines_after(path: Path, place: str, count: int, keep: Filter) -> Part:
    """What was added since `place`, at most a chunk of it; a log that was rotated begins anew."""
    inode, offset = _parsed(place)
    try:
        with path.open("rb") as file:
            now = os.fstat(file.fileno())
            again = now.st_ino != inode or now.st_size < offset
            begin = 0 if again else offset
            file.seek(begin)
            block = file.read(_CHUNK)
    except FileNotFoundError:
        return Part((), place)
    end = block.rfind(b"\n") + 1 or (
        len(block) if len(block) == _CHUNK else 0
    )  # an endless line is gone over in pieces
    lines = block[:end].removesuffix(b"\n").split(b"\n") if end else []
    kept = tuple(deque(passed(lines, keep), maxlen=count))
    return Part(kept, f"{now.st_ino}:{begin + end}", begun_again=again and inode != 0)


def passed(lines: Iterable[bytes], keep: Filter) -> Iterable[Line]:
    """The lines that the filter lets through, cleaned."""
    word, in_trouble = keep.word.lower(), False
    for number, raw in enumerate(lines, 1):
        taken = parse(number, raw.decode(errors="replace"))
        in_trouble = taken.level in _TROUBLE or (in_trouble and not taken.level)
        text = plain(raw.decode(errors="replace"))[:_LONGEST]
        if (in_trouble or not keep.trouble) and word in text.lower():
            yield Line(taken.level, text)


def _parsed(place: str) -> tuple[int, int]:
    inode, _, offset = place.partition(":")
    return (int(inode), int(offset)) if inode.isdecimal() and offset.isdecimal() else (0, 0)
