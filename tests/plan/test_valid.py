"""Values that vLLM would refuse are named, wherever they come from; what it takes is kept as it was written."""

from __future__ import annotations

import pytest
from plan_models import gpu_engine, host

from fitserve.cli.failure import told
from fitserve.cli.plan import command
from fitserve.cli.plan_options import request_from
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import read_known
from fitserve.plan.make import make_plan
from fitserve.plan.parse import parse_text
from fitserve.plan.plan import CheckState, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.plan.review import review
from fitserve.text import choose_language

PLAN = ["qwen3.5-4b", "--gpus", "2xRTX4090"]
WRONG = [
    ["--limit-mm-per-prompt", '{"image": "x"}'],
    ["--gpu-memory-utilization", "nan"],
    ["--gpu-memory-utilization", "1.5"],
    ["--block-size", "17"],
    ["--mm-processor-kwargs", '{"max_pixels": -5}'],
    ["--kv-cache-dtype", "bogus"],
    ["--max-num-seqs", "0"],
    ["--tensor-parallel-size", "0"],
]


def planned(**asked: object) -> Plan:
    cards = parse_gpus("2xRTX4090")
    assert isinstance(cards, tuple)
    request = PlanRequest(**asked)  # type: ignore[arg-type]  # the test's own names
    return make_plan(request, read_known("qwen3.5-4b"), gpu_engine(), host(), cards)


@pytest.mark.parametrize("words", WRONG)
@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_a_wrong_value_is_a_sentence(dashes: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    choose_language("en")
    assert told(command, [*PLAN, *dashes, *words]) == 2
    said = capsys.readouterr().err
    assert words[0] in said
    assert "a bug" not in said


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_value_in_somebodys_command_fails_a_check(words: list[str]) -> None:
    cards = parse_gpus("2xRTX4090")
    assert isinstance(cards, tuple)
    parsed = parse_text(f"vllm serve M {words[0]} '{words[1]}'")
    plan = review(parsed, read_known("qwen3.5-4b"), gpu_engine(), host(), cards)
    failed = [check.detail for check in plan.checks if check.name == "values_valid"]
    assert len(failed) == 1
    assert failed[0].startswith(words[0])


@pytest.mark.parametrize("words", [["typo"], ["--", "foo", "bar"]])
def test_words_that_are_no_flag_do_not_vanish(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, [*PLAN, *words]) == 2
    assert words[-1] in capsys.readouterr().err


def test_vllms_table_of_limits_is_kept() -> None:
    limits = {"image": {"count": 2, "width": 512}, "video": 0}
    request = request_from({"limit_mm_per_prompt": limits})
    assert request.limit_mm_per_prompt == limits
    assert planned(limit_mm_per_prompt=limits).settings.limit_mm_per_prompt == limits
    assert planned(limit_mm_per_prompt={"image": {"count": 0}, "video": 0}).verdict is Verdict.FITS


def test_sequences_that_were_asked_are_kept() -> None:
    plan = planned(max_num_seqs=100_000)
    assert plan.settings.max_num_seqs == 100_000
    assert plan.settings.max_num_batched_tokens >= 100_000
    both = planned(max_num_seqs=1024, max_num_batched_tokens=512)
    assert (both.settings.max_num_seqs, both.settings.max_num_batched_tokens) == (1024, 512)
    assert "fail" in [check.state.value for check in both.checks if check.name == "block_within_step"]


def test_the_preset_leaves_what_was_asked() -> None:
    assert not planned(preset="articles", execution="graphs").settings.enforce_eager


def test_a_dense_model_has_no_experts_to_share() -> None:
    checks = {check.name: check.state for check in planned(enable_expert_parallel=True).checks}
    assert checks["experts_present"] is CheckState.FAIL


@pytest.mark.parametrize(("cards", "warned"), [("2xRTX3090", True), ("2xRTX2080Ti", False)])
def test_half_for_a_model_made_in_bfloat16_is_a_mistake_where_the_card_has_bfloat16(cards: str, warned: bool) -> None:
    found = parse_gpus(cards)
    assert isinstance(found, tuple)
    plan = review(parse_text("vllm serve M --dtype half"), read_known("qwen3.5-4b"), gpu_engine(), host(), found)
    assert any(check.name == "dtype" and check.state.value == "warn" for check in plan.checks) is warned
