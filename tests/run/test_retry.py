"""What is tried after a start that failed: recorded GPU starts, judged and planned anew, without a card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.diagnose.test_planned import LOG as PROBE

from fitserve.cli.doctor_source import EXAMPLES
from fitserve.cli.plan_options import request_from
from fitserve.cli.up_retry import Changed, asked_execution, said, shown, with_change
from fitserve.cli.up_target import Wishes
from fitserve.diagnose.advice import Way, changes
from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.finding import Diagnosis
from fitserve.diagnose.planned import PlanPredictor, cards_of
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.host import HostFacts
from fitserve.facts.known_models import read_known
from fitserve.observe.log.read import read_lines
from fitserve.plan.make import make_plan
from fitserve.plan.plan import Plan
from fitserve.plan.settings import Settings

MODEL = "qwen3.5-35b-a3b-awq-4bit"
HOST = HostFacts("", "", None, frozenset(), 8, 1 << 40, 1 << 40, None, None, None)
BARE = Wishes("lead", MODEL, {}, {})


def judged(name: str) -> Diagnosis:
    """The doctor's word on a recorded start of the lead model."""
    log = (EXAMPLES / f"{name}.log").read_text().splitlines()
    reading = read_lines(log, watched())
    return diagnose(reading, Stated(), PlanPredictor(read_known(MODEL), cards_of(reading.start.figures, 1)))


def planned(wishes: Wishes, gpus: str = "2xRTX3090") -> Plan:
    """The plan of these wishes, as `up` makes it."""
    cards = parse_gpus(gpus)
    assert isinstance(cards, tuple)
    request = request_from(dict(wishes.values), wishes.passthrough)
    return make_plan(
        request, read_known(MODEL), EngineFacts("vllm", "0.22.1", Path("python"), managed=False), HOST, cards
    )


def ways(diagnosis: Diagnosis, gone: tuple[Way, ...] = (), execution: str = "auto") -> list[tuple[str, dict[str, Any]]]:
    return [(change.way.value, change.fix.set) for change in changes(diagnosis, gone, execution)]


def test_from_graphs_to_fewer_graphs_to_eager() -> None:
    failed = judged("graph-capture")
    smaller, eager = ("capture", {"--max-cudagraph-capture-size": 16}), ("eager", {"--enforce-eager": True})
    assert ways(failed) == [smaller, eager]
    assert ways(failed, (Way.CAPTURE,)) == [eager]
    assert ways(failed, (Way.CAPTURE, Way.EAGER)) == []


def test_eager_is_for_those_who_left_the_mode_to_us() -> None:
    failed = judged("graph-capture")
    assert ways(failed, execution="graphs") == [("capture", {"--max-cudagraph-capture-size": 16})]
    assert ways(failed, execution="eager") == []


def test_where_the_ledger_knows_a_change_that_fits_it_comes_before_any_of_the_graphs() -> None:
    reading = read_lines(PROBE.split("\n"), watched())
    failed = diagnose(reading, Stated(), PlanPredictor(read_known(MODEL), cards_of(reading.start.figures, 1)))
    assert ways(failed)[0] == ("memory", {"--max-num-seqs": 8})
    assert [way for way, _ in ways(failed)] == ["memory", "capture", "eager"]


def test_the_engines_own_estimate_is_a_ledger_too() -> None:
    assert ways(judged("kv-too-small")) == [("memory", {"--max-model-len": 111456})]
    assert ways(judged("kv-too-small"), (Way.MEMORY,)) == []


@pytest.mark.parametrize("name", ["memory-held", "first-request", "image-too-large", "split-quantized"])
def test_what_another_start_would_not_cure_is_left_alone(name: str) -> None:
    assert ways(judged(name)) == []


def test_only_the_change_moves() -> None:
    before = planned(BARE)
    changed = planned(with_change(BARE, before.settings, {"--max-model-len": 8192}))
    assert changed.fits
    assert changed.settings == replace(before.settings, max_model_len=8192)


def test_what_followed_from_the_old_value_follows_the_new_one() -> None:
    before = planned(BARE)
    changed = planned(with_change(BARE, before.settings, {"--max-num-seqs": 8}))
    assert changed.settings.max_num_seqs == 8
    assert (changed.settings.max_cudagraph_capture_size or 0) <= 16
    assert changed.settings.max_model_len == before.settings.max_model_len


def test_a_smaller_list_is_in_the_command_and_eager_has_none() -> None:
    before = planned(BARE)
    smaller = planned(with_change(BARE, before.settings, {"--max-cudagraph-capture-size": 8}))
    assert "--max-cudagraph-capture-size 8" in " ".join(smaller.command)
    assert "--enforce-eager" not in smaller.command
    eager = planned(with_change(BARE, smaller.settings, {"--enforce-eager": True}))
    assert "--enforce-eager" in eager.command
    assert eager.settings.max_model_len == before.settings.max_model_len


def settings_of(wishes: Wishes) -> Settings:
    return planned(wishes).settings


def test_what_stood_after_the_dashes_is_replaced_there() -> None:
    typed = replace(
        BARE, values={"passthrough": ("--seed", "7", "--compilation-config", "{}", "--max-model-len", "9000")}
    )
    changed = with_change(typed, settings_of(BARE), {"--compilation-config": {"a": 1}, "--max-model-len": 4096})
    assert changed.passthrough == ("--seed", "7", "--compilation-config", '{"a": 1}')
    assert changed.values["max_model_len"] == 4096
    without = with_change(typed, settings_of(BARE), {"--seed": None, "--max-model-len": "auto"})
    assert without.passthrough == ("--compilation-config", "{}")
    assert "max_model_len" not in without.values


def test_how_it_was_asked_to_run() -> None:
    assert asked_execution(BARE) == "auto"
    assert asked_execution(replace(BARE, values={"execution": "graphs"})) == "graphs"
    for values in ({"enforce_eager": True}, {"preset": "articles"}, {"passthrough": ("--enforce-eager",)}):
        assert asked_execution(replace(BARE, values=values)) == "eager"


def test_it_is_said_and_kept_with_its_evidence() -> None:
    change = changes(judged("kv-too-small"), (), "auto")[0]
    text = said("lead", change)
    assert "did not start for memory" in text
    assert "engine.log, line" in text
    assert "--max-model-len 111456" in text
    told = Changed(change, BARE).told()
    assert (told["way"], told["cause"], told["set"]) == ("memory", "kv_below_max_len", {"--max-model-len": 111456})
    assert told["line"]
    assert (
        shown({"--enforce-eager": True, "--x": {"a": 1}, "--y": None}) == '--enforce-eager --x {"a": 1} (without --y)'
    )
