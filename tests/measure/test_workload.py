"""The same seed gives the same bytes; no picture comes twice unless that is asked for."""

from __future__ import annotations

import base64
import io
import json
from itertools import islice

import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.measure.pictures import parse_size, pictures
from fitserve.measure.workload import Ask, Workload, judged, scripts

SMALL = ((64, 48), (96, 96))


def urls(ask: Ask) -> list[str]:
    content = json.loads(ask.message)["content"]
    return [part["image_url"]["url"] for part in content if part["type"] == "image_url"]


def test_pictures_have_the_sizes_asked_for_in_turn() -> None:
    for drawn, size in zip(islice(pictures("a", SMALL, "en"), 4), SMALL * 2, strict=True):
        image = PIL.Image.open(io.BytesIO(base64.b64decode(drawn.data_url.partition(",")[2])))
        assert (image.size, image.format, drawn.size) == (size, "JPEG", size)


def test_no_picture_comes_twice_in_any_part() -> None:
    work = Workload(conversations=30, pictures=2, sizes=SMALL)
    sent = [url for part in ("measured", "warmup") for script in scripts(work, part) for url in urls(script.asks[0])]
    assert len(sent) == len(set(sent)) == 120


def test_the_same_pictures_when_asked() -> None:
    work = Workload(conversations=5, pictures=2, sizes=SMALL, same_pictures=True)
    assert len({tuple(urls(script.asks[0])) for script in scripts(work)}) == 1


def test_the_same_seed_makes_the_same_requests() -> None:
    work = Workload(conversations=4, turns=2, sizes=SMALL, words=12, language="zh", seed=7)
    again = Workload.from_table(json.loads(json.dumps(work.table())))
    assert again == work
    assert list(scripts(work)) == list(scripts(again))
    assert list(scripts(work)) != list(scripts(Workload(conversations=4, turns=2, sizes=SMALL, words=12, seed=8)))


def test_turns_send_their_pictures_once() -> None:
    (script,) = scripts(Workload(conversations=1, turns=3, sizes=SMALL))
    assert [len(ask.sizes) for ask in script.asks] == [1, 0, 0]


def test_one_picture_can_be_judged() -> None:
    (script,) = scripts(Workload(conversations=1, sizes=SMALL))
    question = script.asks[0].question
    assert question is not None and script.asks[0].is_right(question.answer) is True
    assert script.asks[0].is_right("I don't know") is False


def test_answers_are_judged_by_their_place() -> None:
    work = list(scripts(Workload(conversations=3, turns=2, sizes=SMALL)))
    question = work[2].asks[0].question
    assert question is not None
    assert judged(work, [(2, 0, question.answer), (2, 1, "anything"), (0, 0, "I don't know")]) == [True, False]


@pytest.mark.parametrize("shown", [0, 2])
def test_none_and_two_cannot(shown: int) -> None:
    (script,) = scripts(Workload(conversations=1, pictures=shown, sizes=SMALL))
    assert script.asks[0].is_right("red") is None


def test_text_length() -> None:
    (script,) = scripts(Workload(conversations=1, pictures=0, words=50))
    assert len(script.asks[0].text.split()) > 50


@pytest.mark.parametrize(
    ("text", "size"), [("448", (448, 448)), ("1024x768", (1024, 768)), ("3072X2048", (3072, 2048))]
)
def test_sizes_as_people_write_them(text: str, size: tuple[int, int]) -> None:
    assert parse_size(text) == size


@given(st.text(max_size=12))
def test_what_is_no_size_is_refused(text: str) -> None:
    try:
        width, height = parse_size(text)
    except ValueError:
        return
    assert 16 <= width <= 8192 and 16 <= height <= 8192
