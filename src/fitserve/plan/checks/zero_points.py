"""Does this version take experts with zero points?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.model import QuantFormat
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "asymmetric_experts"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """compressed-tensors: up to 0.22 "Only symmetric quantization is supported for MoE"; Marlin does from 0.23."""
    quantization = given.model.quantization
    packed = quantization.format is QuantFormat.COMPRESSED_TENSORS and "pack" in quantization.packing
    if given.model.experts is None or not packed or quantization.symmetric is not False:
        return
    if given.rules.zero_point_experts:
        yield Check(NAME, CheckState.OK, tr("plan.check_zero_points_taken"))
    else:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_zero_points_refused", version=given.engine.version))
