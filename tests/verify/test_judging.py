"""What the steps make of what they see, without a service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.verify.conftest import VISION, plan

from fitserve.chat.endpoint import Endpoint
from fitserve.plan.plan import Check, CheckState
from fitserve.run.deployment import Deployment, engine_log
from fitserve.text import in_language
from fitserve.units import GIB, MIB
from fitserve.verify import engine_report, place, questions
from fitserve.verify.limits import largest_side
from fitserve.verify.new_picture import verdict
from fitserve.verify.pictures import asked
from fitserve.verify.service import Content, Messages, Said, Service
from fitserve.verify.subject import Subject, Used
from fitserve.verify.turns import judged

Ask = Callable[[Subject, Service], Awaitable[Check]]
ENDPOINT = Endpoint("http://127.0.0.1:1", "one")
ARGV = ("python", "-m", "x", "--model", "/m", "--max-model-len", "32768", "--max-num-seqs", "16")


def subject(planned: dict[str, Any] | None = None, used: Used | None = None, **fields: Any) -> Subject:
    one = Deployment(
        "one", "/m", "one", "127.0.0.1", 1, ARGV, {}, "vllm 0.33.0", plan=plan() if planned is None else planned
    )
    return replace(Subject(ENDPOINT, one, memory=lambda: used), **fields)


class Published(Service):
    """A service that publishes these metrics."""

    def __init__(self, text: str) -> None:
        super().__init__(ENDPOINT, 1.0)
        self._text = text

    async def metrics(self) -> str:
        return self._text


def blocks(planned: dict[str, Any], has: int, size: int = 128) -> str:
    text = f'vllm:cache_config_info{{block_size="{size}",num_gpu_blocks="{has}"}} 1.0\n'
    return asyncio.run(engine_report.blocks(subject(planned), Published(text))).state.value


def test_blocks_are_equal_or_within_the_interval() -> None:
    ends = [{"item": "kv_pool", "low": 6_000_000, "high": 7_000_000}]
    assert blocks(plan(), 6899) == "ok"
    assert blocks(plan(), 6898) == "fail"
    assert blocks(plan(ledger=ends), 6898) == "ok"
    assert blocks(plan(ledger=ends), 5999) == "fail"
    assert blocks(plan(ledger=ends), 6899, size=16) == "fail"
    assert blocks(plan(kv=None), 6899) == "unknown"
    assert asyncio.run(engine_report.blocks(subject(), Published(""))).state is CheckState.UNKNOWN


def test_the_size_of_blocks_that_the_engine_chose_itself() -> None:
    """As 0.22.1 on an H200 and 0.32.0 on a CPU published it: the first tells the size before the model was known."""
    server = 'block_size="16",num_gpu_blocks="6899",user_specified_block_size="False"'
    core = f'{server},effective_attention_block_size="64"'
    said = [
        asyncio.run(engine_report.blocks(subject(plan()), Published(f"vllm:cache_config_info{{{labels}}} 1.0\n")))
        for labels in (server, core)
    ]
    assert [check.state.value for check in said] == ["ok", "fail"]
    assert "128" in said[0].detail


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write a part of the engine's log: `log("engine.log.1", length)`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def write(name: str, said: str) -> None:
        path = engine_log("one").with_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        head = "(APIServer pid=7) INFO 11-30 12:00:00 [api_utils.py:286] "
        path.write_text(f"{head}{said}\n")

    return write


def reported() -> tuple[str, str]:
    check = asyncio.run(engine_report.settings(subject(), Published("")))
    return check.state.value, check.evidence or check.detail


def test_settings_from_the_engines_log(log: Callable[[str, str], None]) -> None:
    assert reported()[0] == "unknown"
    log("engine.log", "non-default args: {'model': '/m', 'max_model_len': 32768, 'max_num_seqs': 16}")
    assert reported() == (
        "ok",
        "The engine reports what was planned, 2 settings (max-model-len 32768, max-num-seqs 16).",
    )
    log("engine.log", "non-default args: {'model': '/m', 'max_model_len': 4096, 'max_num_seqs': 16}")
    assert reported() == ("fail", "--max-model-len 4096 (32768)")


def test_settings_after_months(log: Callable[[str, str], None]) -> None:
    log("engine.log", "Engine 000: Avg prompt throughput: 0.0 tokens/s")
    log("engine.log.2", "non-default args: {'model': '/m', 'max_model_len': 4096}")
    log("engine.log.1", "non-default args: {'model': '/m', 'max_model_len': 32768}")
    assert reported()[0] == "ok"


def memory(used: Used | None, **fields: Any) -> str:
    return asyncio.run(place.memory(subject(used=used, **fields), Published(""))).state.value


def test_memory_within_the_ledger() -> None:
    allowed = GIB + 6_899_000
    assert memory(Used((allowed, allowed - 5))) == "ok"
    assert memory(Used((GIB // 2, allowed + GIB))) == "fail"
    assert memory(Used((allowed + GIB,), with_others=True)) == "unknown"
    assert memory(None) == "unknown"
    rows = [{"item": "weights", "high": None}]
    assert memory(Used((1,)), planned=plan(ledger=rows)) == "unknown"


def test_growth_counts_from_the_settled_turns() -> None:
    def grown(*sizes: int) -> str:
        return judged(subject(), [Used((size * MIB, 5)) for size in sizes]).state.value

    assert grown(100, 200, 300, 400, 420, 440, 460) == "ok"
    assert grown(100, 100, 100, 100, 120, 140, 165) == "fail"
    assert judged(subject(), [None] * 6).state is CheckState.UNKNOWN


@settings(max_examples=25)
@given(some.integers(0, 10**6), some.booleans())
def test_pictures_that_follow_each_other_have_other_answers(number: int, demo: bool) -> None:
    old, new = asked(number, demo=demo), asked(number + 1, demo=demo)
    words = ["red", "blue", "green", "yellow", "1", "2", "3"]
    right = [word for word in words if new.is_right(word)]
    assert len(right) == 1
    assert old.question == new.question
    assert verdict(old, new, right[0]) == "right"
    stale = next(word for word in words if old.is_right(word))
    assert verdict(old, new, stale) == "stale"
    assert verdict(old, new, "a cat") == "unclear"


@given(some.integers(1, 10**8), some.integers(1, 10**6))
def test_the_largest_picture_fits(pixels: int, window: int) -> None:
    side = largest_side(pixels, VISION, window)
    assert side % 32 == 0
    assert side == 32 or (side**2 <= pixels and VISION.tokens(side, side) <= window)


class Saying(Service):
    """A service that answers with these words, and keeps what it was asked."""

    def __init__(self, words: str) -> None:
        super().__init__(ENDPOINT, 1.0)
        self._words, self.heard = words, ""

    async def ask(self, content: Content | Messages, max_tokens: int = 128) -> Said:
        self.heard = str(content)
        return Said(self._words, "stop", 10, 3)


@pytest.mark.parametrize(
    "words", ["I can't tell.", "I'm sorry, I cannot see images.", "我看不出来。", "抱歉，无法回答。"]
)
@pytest.mark.parametrize("step", [questions.text, questions.image, questions.images])
def test_an_answer_that_declines_is_no_answer(step: Ask, words: str) -> None:
    found = asyncio.run(step(subject(), Saying(words)))
    assert found.state is CheckState.WARN
    assert found.evidence == words, "a person reads the words"


def test_the_demo_model_is_right_to_decline_without_a_picture_and_wrong_with_one() -> None:
    demo = subject(demo=True)
    assert asyncio.run(questions.text(demo, Saying("I can't tell."))).state is CheckState.OK
    assert asyncio.run(questions.image(demo, Saying("I can't tell."))).state is CheckState.FAIL


@pytest.mark.parametrize(
    ("words", "state"), [("红色、蓝色、绿色、黄色", "ok"), ("red, blue, green, yellow", "ok"), ("两张", "warn")]
)
def test_several_pictures_are_judged_by_all_their_colours(words: str, state: str) -> None:
    assert asyncio.run(questions.images(subject(), Saying(words))).state == state


@pytest.mark.parametrize("demo", [True, False])
@pytest.mark.parametrize("step", [questions.text, questions.image, questions.images])
def test_questions_are_in_the_readers_language(step: Ask, demo: bool) -> None:
    with in_language("zh"):
        service = Saying("红")
        asyncio.run(step(subject(demo=demo), service))
    assert re.search("[一-鿿]", service.heard)
