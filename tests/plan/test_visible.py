"""The cards that the plan chose are the ones that vLLM will see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_models import gpu_engine, host

from fitserve.facts.gpu import Gpu
from fitserve.facts.known_models import read_known
from fitserve.plan.make import make_plan
from fitserve.plan.parse import parse_text
from fitserve.plan.request import PlanRequest
from fitserve.plan.review import review
from fitserve.units import GIB

CARD = Gpu(0, "NVIDIA GeForce RTX 3090", 23 * GIB, 23 * GIB, (8, 6))


def cards(*free: int, first: int = 0) -> tuple[Gpu, ...]:
    return tuple(replace(CARD, index=first + at, free_bytes=size * GIB) for at, size in enumerate(free))


@pytest.mark.parametrize(
    ("there", "ranks", "seen"),
    [
        (cards(3, 23), 1, "1"),
        (cards(23, 3, 23), 2, "0,2"),
        (cards(3, 23, first=4), 1, "5"),
        (cards(23, 3), 1, None),
        (cards(3, 23), 2, None),
        ((CARD, replace(CARD, index=1, name="NVIDIA GeForce RTX 4090")), 1, "0"),
    ],
)
def test_vllm_is_told_which_cards(there: tuple[Gpu, ...], ranks: int, seen: str | None) -> None:
    request = PlanRequest(tensor_parallel_size=ranks)
    env = make_plan(request, read_known("qwen3.5-4b"), gpu_engine(), host(), there).env
    assert env.get("CUDA_VISIBLE_DEVICES") == seen
    assert env.get("CUDA_DEVICE_ORDER") == ("PCI_BUS_ID" if seen else None)


@pytest.mark.parametrize(
    ("command", "fits"), [("vllm serve M", False), ("CUDA_VISIBLE_DEVICES=1 vllm serve M --max-model-len 8K", True)]
)
def test_somebodys_command_takes_the_first_cards_it_sees(command: str, fits: bool) -> None:
    plan = review(parse_text(command), read_known("qwen3.5-4b"), gpu_engine(), host(), cards(3, 23))
    assert plan.fits is fits


def test_a_mask_that_hides_a_card_that_is_needed() -> None:
    parsed = parse_text("CUDA_VISIBLE_DEVICES=0 vllm serve M -tp 2")
    plan = review(parsed, read_known("qwen3.5-4b"), gpu_engine(), host(), cards(23, 23))
    assert "fail" in [check.state.value for check in plan.checks if check.name == "cards_enough"]
    assert plan.env["CUDA_VISIBLE_DEVICES"] == "0"
    blind = review(parse_text("CUDA_VISIBLE_DEVICES=7 vllm serve M"), plan.model, gpu_engine(), host(), cards(23))
    assert "cards_visible" in [check.name for check in blind.checks]
