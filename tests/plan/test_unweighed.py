"""A flag that moves memory and is not weighed leaves nothing surely fitting, and is named."""

from __future__ import annotations

import pytest
from plan_models import gpu_engine, host

from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import read_known
from fitserve.plan.make import make_plan
from fitserve.plan.parse import parse, parse_text
from fitserve.plan.plan import CheckState, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.plan.review import review

MODEL = read_known("qwen3.5-4b")


def reviewed(flags: str, gpus: str = "1xRTX4090") -> Plan:
    cards = parse_gpus(gpus)
    assert isinstance(cards, tuple)
    return review(parse_text(f"vllm serve M --max-model-len 8K {flags}"), MODEL, gpu_engine(), host(), cards)


def named(plan: Plan) -> list[str]:
    return [check.detail.split(" ")[0] for check in plan.checks if check.name == "flags_weighed"]


def test_a_plain_command_is_weighed_whole() -> None:
    plan = reviewed("--dtype bfloat16 -O2 -pp 1 --seed 3")
    assert plan.verdict is Verdict.FITS
    assert named(plan) == []


@pytest.mark.parametrize(
    "flags",
    [
        "--dtype float32", "-O0", "-O3", "--compilation-config '{\"cudagraph_mode\":\"NONE\"}'", "-cc.mode=0",
        "--config vllm.yaml", "--enable-lora", "--quantization fp8", "--hf-overrides {}",
    ],
)  # fmt: skip
def test_each_flag_that_moves_memory_is_named(flags: str) -> None:
    plan = reviewed(flags)
    assert plan.verdict is Verdict.TIGHT
    assert len(named(plan)) == 1
    assert next(check for check in plan.checks if check.name == "flags_weighed").state is CheckState.UNKNOWN


@pytest.mark.parametrize(("flags", "gpus", "state"), [
    ("-pp 2", "1xRTX4090", CheckState.FAIL), ("-pp 2", "2xRTX4090", CheckState.OK),
    ("-tp 2 -dp 2", "3xRTX4090", CheckState.FAIL), ("-tp 2 --data-parallel-size=2", "4xRTX4090", CheckState.OK),
])  # fmt: skip
def test_stages_and_replicas_take_cards(flags: str, gpus: str, state: CheckState) -> None:
    plan = reviewed(flags, gpus)
    assert {check.name: check.state for check in plan.checks}["cards_enough"] is state
    assert plan.verdict is Verdict.TIGHT


def test_weights_in_the_hosts_memory_come_off_the_card() -> None:
    small, without = reviewed("--cpu-offload-gb 4", "1x12GiB"), reviewed("", "1x12GiB")
    sizes = [next(row.expected or 0 for row in plan.ledger if row.item == "weights") for plan in (without, small)]
    assert sizes[0] - sizes[1] == 4 * 2**30
    assert small.verdict is Verdict.TIGHT
    assert parse(small.command).request.cpu_offload_gb == 4


def test_what_follows_the_dashes_is_capped_too() -> None:
    cards = parse_gpus("1xRTX4090")
    assert isinstance(cards, tuple)
    request = PlanRequest(max_model_len=8192, extra=("--dtype", "float32"))
    assert make_plan(request, MODEL, gpu_engine(), host(), cards).verdict is Verdict.TIGHT
