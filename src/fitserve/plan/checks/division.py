"""Does the number of ranks divide what must be shared out, and the quantization's groups?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import crossing_groups, undivided
from fitserve.text import tr

HEADS, GROUPS = "tensor_parallel_divides", "groups_whole"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails where vLLM's `divide` would, or where a scale group would cross two ranks."""
    ranks = settings.tensor_parallel_size
    left = [f"{name} {count}" for name, count in undivided(given.model, ranks)]
    if left:
        yield Check(HEADS, CheckState.FAIL, tr("plan.check_not_divided", ranks=ranks, names=", ".join(left)))
    elif ranks > 1:
        yield Check(HEADS, CheckState.OK, tr("plan.check_divided", ranks=ranks))
    crossing = crossing_groups(given.model, ranks) if not settings.enable_expert_parallel else []
    if crossing:
        yield Check(GROUPS, CheckState.FAIL, tr("plan.check_groups_cross", ranks=ranks, names=", ".join(crossing)))
