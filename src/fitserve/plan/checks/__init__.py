"""Named checks of a plan: one file a check, each yields what it found."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.checks import architecture, block_step, division, serving, state_blocks
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, KvPlan
from fitserve.plan.settings import Settings

CHECKS = (architecture, serving, division, state_blocks, block_step)


def run_checks(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:
    """All checks, in the order in which a start would meet them."""
    for module in CHECKS:
        yield from module.check(given, settings, kv)
