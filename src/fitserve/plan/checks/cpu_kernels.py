"""What a CPU engine's kernels take: head sizes, widths per rank, quantized experts."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.model import QuantFormat
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "cpu_kernels"
HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)  # v1/attention/backends/cpu_attn.py
WIDTH = 32  # CPUWNA16LinearKernel: inputs and outputs of a rank


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails where no kernel of vLLM 0.32's CPU build takes the model."""
    model = given.model
    if not given.on_cpu:
        return
    if model.attention and model.attention.head_dim not in HEADS:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_cpu_head", size=model.attention.head_dim))
    four_bit = model.quantization.format in (QuantFormat.COMPRESSED_TENSORS, QuantFormat.AWQ, QuantFormat.GPTQ)
    if not four_bit:
        return
    if model.experts:
        yield from _experts(given)
    width = (model.intermediate or 0) // settings.tensor_parallel_size
    if width % WIDTH:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_cpu_width", width=width, unit=WIDTH))


def _experts(given: Given) -> Iterator[Check]:
    """CPUExpertsInt4 needs AMX tiles, symmetric weights and groups that are not 32."""
    quantization = given.model.quantization
    amx = "amx_tile" in given.host.cpu_flags
    if not amx or quantization.group_size == WIDTH or quantization.symmetric is False:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_cpu_experts"))
