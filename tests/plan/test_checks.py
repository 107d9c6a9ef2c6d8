"""Named checks: each finds its trap, and none speaks where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_models import cpu_engine, gpu_engine, host, lead, tiny

from fitserve.facts.gpu import Gpu, GpuProcess
from fitserve.facts.model import Experts, ModelFacts, QuantFormat, Quantization
from fitserve.plan.make import make_plan
from fitserve.plan.plan import CheckState, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.units import GIB, MIB

CARD = Gpu(0, "NVIDIA GeForce RTX 3090", 23 * GIB, 23 * GIB - 200 * MIB, (8, 6), driver="580.10")
PACKED = Quantization(QuantFormat.COMPRESSED_TENSORS, 4, 32, True, "pack-quantized", method="compressed-tensors")


def states(plan: Plan) -> dict[str, CheckState]:
    return {check.name: check.state for check in plan.checks if check.state is not CheckState.OK}


def on_cards(model: ModelFacts, *cards: Gpu, version: str = "0.33.0", **asked: object) -> Plan:
    request = PlanRequest(**asked)  # type: ignore[arg-type]  # the test's own names
    return make_plan(request, model, gpu_engine(version), host(), cards or (CARD,))


def packed(**changes: object) -> ModelFacts:
    return replace(lead(), quantization=replace(PACKED, **changes))  # type: ignore[arg-type]  # fields of it


def test_a_healthy_plan_has_nothing_to_say() -> None:
    assert states(on_cards(packed())) == {}


def test_a_checkpoint_that_is_not_quantized_has_no_format_to_name() -> None:
    said = {check.name: check.detail for check in on_cards(lead()).checks}["checkpoint_servable"]
    assert said == "nothing in the checkpoint is known to stop vLLM."


@pytest.mark.parametrize(
    ("extra", "name", "state"),
    [
        (("--swap-space", "4"), "flags_known", CheckState.FAIL),
        (("--max-model-length", "4"), "flags_known", CheckState.FAIL),
        (("--something-entirely-new", "4"), "flags_known", CheckState.UNKNOWN),
        (("--quantization", "awq"), "quantization_matches", CheckState.FAIL),
        (("-q", "awq"), "quantization_matches", CheckState.FAIL),
    ],
)
def test_flags(extra: tuple[str, ...], name: str, state: CheckState) -> None:
    assert states(on_cards(packed(), extra=extra)) == {name: state}


def test_an_unquantized_checkpoint_may_be_quantized_while_loading() -> None:
    plan = on_cards(lead(), extra=("--quantization", "fp8"))
    assert states(plan) == {"flags_weighed": CheckState.UNKNOWN}
    assert plan.verdict is not Verdict.FITS


def test_the_right_quantization_is_taken() -> None:
    assert states(on_cards(packed(), extra=("--quantization", "compressed-tensors"))) == {}


@pytest.mark.parametrize(
    ("version", "state"), [("0.22.1", CheckState.FAIL), ("0.23.0", CheckState.OK), ("0.33.0", CheckState.OK)]
)
def test_experts_with_zero_points(version: str, state: CheckState) -> None:
    plan = on_cards(packed(symmetric=False), version=version)
    assert {check.name: check.state for check in plan.checks}["asymmetric_experts"] is state


def test_a_version_before_the_architecture() -> None:
    assert states(on_cards(packed(), version="0.15.0"))["architecture_known"] is CheckState.FAIL


def test_groups_that_cross_ranks() -> None:
    model = packed(group_size=128)
    plan = on_cards(model, *(replace(CARD, index=index) for index in range(8)), tensor_parallel_size=8)
    assert states(plan)["groups_whole"] is CheckState.FAIL


def test_more_ranks_than_cards() -> None:
    assert states(on_cards(packed(), tensor_parallel_size=2))["cards_enough"] is CheckState.FAIL


def test_other_processes_on_a_card_are_named() -> None:
    busy = replace(CARD, free_bytes=15 * GIB, processes=(GpuProcess(4242, 7 * GIB, "ollama"),))
    plan = on_cards(packed(), busy)
    check = next(check for check in plan.checks if check.name == "cards_free")
    assert check.state is CheckState.WARN
    assert "ollama (4242)" in check.detail


def test_old_cards_and_drivers() -> None:
    turing = replace(CARD, compute_capability=(7, 5), driver="550.54")
    found = states(on_cards(packed(), turing, extra=("--dtype", "auto")))
    assert found["dtype_supported"] is CheckState.FAIL
    assert found["driver_new_enough"] is CheckState.WARN
    assert "dtype_supported" not in states(on_cards(packed(), turing, extra=("--dtype", "half")))


def test_small_shared_memory_only_matters_for_several_ranks() -> None:
    small = replace(host(), shm_total_bytes=64 * MIB)
    two = (CARD, replace(CARD, index=1))
    plan = make_plan(PlanRequest(tensor_parallel_size=2), packed(), gpu_engine(), small, two)
    assert states(plan)["shared_memory"] is CheckState.FAIL
    one = make_plan(PlanRequest(tensor_parallel_size=1), packed(), gpu_engine(), small, two)
    assert "shared_memory" not in states(one)


def test_compiling_needs_a_compiler() -> None:
    bare = replace(host(), compiler=None)
    plan = make_plan(PlanRequest(execution="graphs"), tiny(), cpu_engine(), bare, None)
    assert states(plan)["compiler"] is CheckState.FAIL


def test_quantized_experts_on_a_processor() -> None:
    model = replace(tiny(), experts=Experts(8, 2, 64), quantization=PACKED)
    plan = make_plan(PlanRequest(), model, cpu_engine(), host(), None)
    assert states(plan)["cpu_kernels"] is CheckState.FAIL


def test_a_length_above_the_models() -> None:
    assert states(on_cards(packed(), max_model_len=300_000))["length_within_model"] is CheckState.FAIL


def test_old_cards_get_the_dtype_that_they_have() -> None:
    turing = replace(CARD, compute_capability=(7, 5))
    plan = on_cards(packed(), turing)
    assert plan.command[-2:] == ("--dtype", "half")
    assert "dtype_supported" not in states(plan)
    assert "dtype_supported" in states(on_cards(packed(), turing, extra=("--dtype", "bfloat16")))


def test_the_articles_preset_takes_as_many_cards_as_divide_the_model() -> None:
    plan = on_cards(packed(), *(replace(CARD, index=index) for index in range(3)), preset="articles")
    assert plan.settings.tensor_parallel_size == 2
    assert "tensor_parallel_divides" not in states(plan)


@pytest.mark.parametrize(("asked", "caching"), [(None, False), (True, True)])
def test_a_step_that_was_asked_is_kept(asked: bool | None, caching: bool) -> None:
    """0.17 wants a whole block a step with prefix caching: what was not asked gives way."""
    for dtype in (None, "fp8"):
        plan = on_cards(
            packed(), version="0.17.1", max_num_batched_tokens=512, enable_prefix_caching=asked, kv_cache_dtype=dtype
        )
        assert plan.settings.max_num_batched_tokens == 512
        assert plan.settings.enable_prefix_caching is caching
        assert ("block_within_step" in states(plan)) is caching
