"""Does the ledger weigh every flag that moves memory?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.unweighed import unweighed
from fitserve.text import tr

NAME = "flags_weighed"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Unknown for each flag that the ledger leaves out."""
    for flag in unweighed(settings.extra, given.model):
        yield Check(NAME, CheckState.UNKNOWN, tr("plan.check_not_weighed", flag=flag))
    if settings.cpu_offload_gb:
        yield Check(NAME, CheckState.UNKNOWN, tr("plan.check_offload", gib=f"{settings.cpu_offload_gb:g}"))
