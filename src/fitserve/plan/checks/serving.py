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
        form = given.model.quantization.format
        key = "plan.check_servable_plain" if form == "none" else "plan.check_servable"
        yield Check(NAME, CheckState.OK, tr(key, format=form))
