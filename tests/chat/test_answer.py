"""How pieces add up: thinking told apart, half marks held back, figures only where they are known."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.chat.answer import Answer, Finish, TextDelta, ThinkingDelta, Usage, split_thinking
from fitserve.chat.conversation import Figures
from fitserve.chat.said import said


def grown(*pieces: str) -> Answer:
    answer = Answer()
    for number, piece in enumerate(pieces):
        answer = answer.grown(TextDelta(piece), float(number + 1))
    return answer


def test_figures() -> None:
    answer = grown("a", "b", "c").grown(Finish("stop"), 5.0).grown(Usage(40, 9), 5.1)
    assert (answer.text, answer.first_token_s, answer.seconds) == ("abc", 1.0, 5.0)
    assert answer.tokens_per_second == 2.0
    assert answer.finish_reason == "stop"


def test_what_is_not_counted_is_unknown() -> None:
    assert grown("a", "b").tokens_per_second is None
    assert Answer().grown(Usage(4, 1), 1.0).tokens_per_second is None
    assert grown("a").grown(Usage(4, 1), 1.0).tokens_per_second is None


@pytest.mark.parametrize(
    ("later", "lasted_s", "rate"), [(5, 4.0, None), (7, 4.0, None), (8, 4.0, 2.0), (80, 0.02, None), (80, 0.5, 160.0)]
)
def test_a_burst_has_no_rate(later: int, lasted_s: float, rate: float | None) -> None:
    answer = grown("a").grown(Finish("stop"), 1.0 + lasted_s).grown(Usage(40, 1 + later), 6.0)
    assert answer.tokens_per_second == rate
    assert (Figures.of(answer).line or said("?")).key == ("chat.figures" if rate else "chat.figures_brief")


def test_told_thinking_is_kept_apart() -> None:
    answer = Answer().grown(ThinkingDelta("hm "), 1.0).grown(ThinkingDelta("so"), 2.0).grown(TextDelta("Red."), 3.0)
    assert (answer.thinking, answer.text, answer.first_token_s) == ("hm so", "Red.", 1.0)


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ("plain", ("", "plain")),
        ("<think>\nwhy\n</think>\n\nRed.", ("why", "Red.")),
        ("why\n</think>\n\nRed.", ("why", "Red.")),  # the template had opened it
        ("<think>\nwh", ("wh", "")),
        ("<thi", ("", "")),
        ("why</thin", ("", "why")),
        ("1 <", ("", "1 ")),
        ("<b>bold</b>", ("", "<b>bold</b>")),
    ],
)
def test_thinking_marks(raw: str, parts: tuple[str, str]) -> None:
    assert split_thinking(raw) == parts


def test_the_end_gives_back_what_was_held() -> None:
    assert grown("1 <").grown(Finish("stop"), 9.0).text == "1 <"


@given(st.text("<think/>\n ab", max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_pieces_do_not_matter(raw: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(raw)]
    answer = grown(*(raw[start:end] for start, end in itertools.pairwise(places)))
    assert (answer.thinking, answer.text) == split_thinking(raw)
    done = answer.grown(Finish("stop"), 99.0)
    assert (done.thinking, done.text) == split_thinking(raw, ended=True)


@given(st.text(max_size=80))
def test_text_without_marks_is_untouched(raw: str) -> None:
    if "</think>" not in raw and not raw.lstrip().startswith("<think>"):
        assert split_thinking(raw, ended=True) == ("", raw)
