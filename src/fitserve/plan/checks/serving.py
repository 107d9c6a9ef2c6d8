"""Can vLLM serve this checkpoint as it is?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "checkpoint_servable"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails with the reason that the facts give."""
    if given.model.serving_problem:
        yield Check(NAME, CheckState.FAIL, given.model.serving_problem)
    else:
        yield Check(NAME, CheckState.OK, tr("plan.check_servable", format=given.model.quantization.format))
