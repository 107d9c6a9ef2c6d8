"""Named checks of a plan: one file a check, each yields what it found."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.checks import (
    architecture,
    block_step,
    cards,
    cpu_cache,
    cpu_kernels,
    division,
    drafts,
    experts,
    flags_known,
    flags_weighed,
    length,
    machine,
    quantization_flag,
    serving,
    state_blocks,
    version,
    zero_points,
)
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, KvPlan
from fitserve.plan.settings import Settings

CHECKS = (
    version,
    flags_known,
    flags_weighed,
    architecture,
    serving,
    quantization_flag,
    length,
    cards,
    machine,
    division,
    zero_points,
    drafts,
    experts,
    cpu_kernels,
    cpu_cache,
    block_step,
    state_blocks,
)


def run_checks(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:
    """All checks, in the order in which a start would meet them."""
    for module in CHECKS:
        yield from module.check(given, settings, kv)
