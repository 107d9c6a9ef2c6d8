"""The probe, the meter and the picture, against small recorded replies."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from fitserve.observe.gpu_memory import NoGpuMemory
from fitserve.observe.http import Reply
from fitserve.observe.metrics import cache_info
from fitserve.observe.picture import SIDE, square
from fitserve.observe.probe import judged, refuses_pictures
from fitserve.observe.reader import LogReader
from fitserve.run.edges import Outcome


def reply(content: object, finish: str = "stop", **message: object) -> Reply:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return Reply(200, json.dumps({"choices": [choice]}))


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (reply("red"), Outcome.RIGHT),
        (reply("blue"), Outcome.WRONG),
        (reply("red", "length"), Outcome.RIGHT),
        (reply(None, reasoning_content="red"), Outcome.RIGHT),
        (reply("  "), Outcome.FAILED),
        (reply("red", "error"), Outcome.FAILED),
        (Reply(500, '{"error": {"message": "dead"}}'), Outcome.FAILED),
        (Reply(0, "ConnectionRefusedError"), Outcome.FAILED),
        (Reply(200, "not json"), Outcome.FAILED),
        (Reply(200, '{"choices": []}'), Outcome.FAILED),
    ],
)
def test_an_answer_is_judged(answer: Reply, outcome: Outcome) -> None:
    assert judged("?", answer, 1.0, lambda text: "red" in text).outcome is outcome


def test_nobody_to_judge() -> None:
    assert judged("?", reply("something"), 1.0, None).outcome is Outcome.ANSWERED


def test_the_engines_own_words_are_the_detail() -> None:
    assert judged("?", Reply(500, '{"error": {"message": "dead\\nmore"}}'), 1.0, None).detail == "HTTP 500: dead"
    assert judged("?", Reply(0, "TimeoutError: timed out"), 1.0, None).detail == "TimeoutError: timed out"


@pytest.mark.parametrize(
    "said", ["Qwen3 is not a multimodal model", "At most 0 image(s) may be provided in one prompt."]
)
def test_a_refusal_of_pictures(said: str) -> None:
    assert refuses_pictures(Reply(400, json.dumps({"error": {"message": said}})))


def test_the_picture_is_a_picture() -> None:
    for number, centre in enumerate([(214, 39, 40), (31, 90, 200), (40, 150, 60), (250, 210, 40)]):
        image = Image.open(io.BytesIO(square(number).png))
        assert image.size == (SIDE, SIDE)
        assert image.getpixel((SIDE // 2, SIDE // 2)) == centre
        assert image.getpixel((0, 0)) == (255, 255, 255)
    assert square(0) == square(4)


def test_the_cache_as_the_engine_reports_it() -> None:
    page = 'x 1\nvllm:cache_config_info{block_size="128",engine="0",num_gpu_blocks="8192"} 1.0\n'
    assert cache_info(page) == {"block_size": "128", "engine": "0", "num_gpu_blocks": "8192"}
    assert cache_info("nothing") == {}


def test_log_lines_give_stages_and_figures() -> None:
    reader = LogReader()
    assert (
        reader.feed("(Worker pid=1) INFO 11-30 09:23:09 [cpu_model_runner.py:68] Starting to load model /m...")
        == "load"
    )
    line = "CPU KV cache size: 883,011 tokens, Maximum concurrency for 4,096 tokens per request: 215.58x"
    assert reader.feed(f"(EngineCore pid=1) INFO 11-30 09:23:10 [kv_cache_utils.py:2327] {line}") == "kv_alloc"
    assert reader.figures()["kv_tokens"] == 883011


def test_no_driver_is_unknown() -> None:
    assert NoGpuMemory().used_bytes() is None
    assert NoGpuMemory().holders() is None
