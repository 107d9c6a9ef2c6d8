"""No log makes the doctor fail or hang: cut, shuffled, repeated, binary, with endless lines."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitserve.diagnose.engine import diagnose, watched
from fitserve.observe.log.figures import FIGURES
from fitserve.observe.log.lines import LIMIT
from fitserve.observe.log.read import read_lines
from fitserve.observe.log.source import lines_of
from fitserve.observe.log.stages import MARKS

DATA = Path(__file__).parent.parent / "data" / "doctor"
LINES = [
    line for case in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines() for line in json.loads(case)["log"]
]

PATTERNS = [*MARKS, *FIGURES, *watched()]


def judge(lines):
    return diagnose(read_lines(lines, watched()))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_any_order_of_lines(lines):
    judge(lines)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=6), st.binary(max_size=300), st.integers(0, 400))
def test_cut_and_binary(lines, noise, cut):
    stream = io.BytesIO("\n".join(lines).encode()[cut:] + noise)
    judge(lines_of(stream))


def test_no_pattern_repeats_without_end():
    """Every repetition of a group or of any character has an upper bound, so that no line makes a search explode."""
    endless = []
    for item in PATTERNS:
        shape = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "x", item.shape.pattern)  # escapes and classes are single characters
        if re.search(r"[).](?:[*+]|\{\d+,\})", shape):
            endless.append(item.key)
    assert endless == []


def test_every_pattern_ends_on_long_lines():
    fillings = ["a", " ", "0", ".", "(", "1.0 ", "GiB ", "x=1, ", "/", "'", '"', "[", "not is "]
    for item in PATTERNS:
        for filling in fillings:
            item.shape.search((" ".join(item.words) + " " + filling * LIMIT)[:LIMIT])


@pytest.mark.parametrize("filling", ["a", "torch memory ", "\x1b[", "{", '{"message": "', "("])
def test_an_endless_line_is_cut(filling):
    stream = io.BytesIO((filling * (3_000_000 // len(filling))).encode())
    assert judge(lines_of(stream)).lines == 1
