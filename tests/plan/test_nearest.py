"""What is named where something does not fit: it must run as said, and a size that is said to fit must fit."""

from __future__ import annotations

import re
from dataclasses import replace

from plan_models import gpu_engine, host

from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import builds_of, read_known
from fitserve.facts.model import ModelFacts
from fitserve.plan.make import make_plan
from fitserve.plan.plan import Plan, Verdict
from fitserve.plan.request import PlanRequest


def cards(text: str) -> tuple[Gpu, ...]:
    found = parse_gpus(text)
    assert isinstance(found, tuple)
    return found


def planned(model: ModelFacts, gpus: str, request: PlanRequest | None = None) -> Plan:
    return make_plan(request or PlanRequest(), model, gpu_engine(), host(), cards(gpus))


def test_builds_of_a_model() -> None:
    assert set(builds_of("Qwen/Qwen3.5-35B-A3B")) == {
        "qwen3.5-35b-a3b-awq-4bit",
        "qwen3.5-35b-a3b-fp8",
        "qwen3.5-35b-a3b-gptq-int4",
    }
    assert "qwen3.6-35b-a3b" in builds_of("qwen3.6-35b-a3b-nvfp4")
    assert builds_of("someone/else") == ()


def test_a_smaller_build_is_named_and_fits() -> None:
    plan = planned(read_known("qwen3.5-35b-a3b-awq-4bit"), "1xRTX3090")
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert plan.nearest[0].settings == {"model": "qwen3.5-35b-a3b-gptq-int4"}
    assert planned(read_known("qwen3.5-35b-a3b-gptq-int4"), "1xRTX3090").verdict is Verdict.FITS
    assert not any(near.settings.get("model") == "qwen3.5-35b-a3b-fp8" for near in plan.nearest), "larger"


def test_without_a_known_build_the_size_that_fits_is_said() -> None:
    """What is said to fit does: the same model with the weights of its tower left out is smaller than that."""
    model = replace(read_known("qwen3.5-35b-a3b-awq-4bit"), name="mine/35b-finetune")
    plan = planned(model, "1xRTX3090")
    said = next(near.why for near in plan.nearest if not near.settings)
    room = float(re.search(r"([\d.]+) GiB", said)[1])  # type: ignore[index]  # it is there, or the test fails here
    assert 21.0 < room < 22.27
    text_only = planned(model, "1xRTX3090", PlanRequest(language_model_only=True))
    assert text_only.verdict is Verdict.FITS
    assert next(row for row in text_only.ledger if row.item == "weights").expected / 2**30 < room
