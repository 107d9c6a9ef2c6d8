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
    """compressed-tensors: up to 0.22 "Only symmetric quantization is supported for MoE"; 0.27 takes zero points."""
    quantization = given.model.quantization
    packed = quantization.format is QuantFormat.COMPRESSED_TENSORS and "pack" in quantization.packing
    if given.model.experts is None or not packed or quantization.symmetric is not False:
        return
    takes = given.rules.zero_point_experts
    if takes is False:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_zero_points_refused", version=given.engine.version))
    elif takes is None:
        yield Check(NAME, CheckState.UNKNOWN, tr("plan.check_zero_points_unknown", version=given.engine.version))
    else:
        yield Check(NAME, CheckState.OK, tr("plan.check_zero_points_taken"))
