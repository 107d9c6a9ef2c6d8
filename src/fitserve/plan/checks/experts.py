"""Is there anything for expert parallelism to share out?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "experts_present"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """vLLM refuses --enable-expert-parallel for a dense model (config/model.py)."""
    if settings.enable_expert_parallel and given.model.experts is None:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_no_experts", name=given.model.name))
