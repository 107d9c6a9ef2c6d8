"""Does the number of ranks divide what must be shared out, and the quantization's groups?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.model import Quantization
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import undivided
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
    crossing = crossing_groups(given, ranks) if not settings.enable_expert_parallel else []
    if crossing:
        yield Check(GROUPS, CheckState.FAIL, tr("plan.check_groups_cross", ranks=ranks, names=", ".join(crossing)))


def crossing_groups(given: Given, ranks: int) -> list[str]:
    """Row-split inputs whose share is not a whole number of groups."""
    size = group_size(given.model.quantization)
    if not size:
        return []
    experts = given.model.experts
    widths = {"experts": experts.width} if experts else {"MLP": given.model.intermediate or 0}
    return [f"{name} {width}/{ranks} % {size}" for name, width in widths.items() if width // ranks % size]


def group_size(quantization: Quantization) -> int | None:
    """The largest group of the scheme, None for schemes without groups."""
    sizes = [group.group_size for group in quantization.groups if group.group_size and group.kind == "int"]
    return max(sizes, default=None) or quantization.group_size
