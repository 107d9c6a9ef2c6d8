"""Does --quantization name what the checkpoint is?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.model import QuantFormat
from fitserve.plan.given import Given
from fitserve.plan.parse import parse
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "quantization_matches"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """vLLM reads the method from the config and refuses another one: `awq` for a compressed-tensors folder.

    An unquantized checkpoint has none to compare: vLLM quantizes it while loading (`flags_weighed` names that).
    """
    asked = parse(settings.extra).flags.get("--quantization") or ""
    method = given.model.quantization.method or given.model.quantization.format.value
    if not asked or given.model.quantization.format is QuantFormat.NONE or _same(asked, method):
        return
    yield Check(NAME, CheckState.FAIL, tr("plan.check_quantization_differs", asked=asked, method=method))


def _same(asked: str, method: str) -> bool:
    """`awq_marlin` and `gptq_marlin` are kernels for awq and gptq."""
    return asked.replace("_", "-").removesuffix("-marlin") == method.replace("_", "-").removesuffix("-marlin")
