"""Does the checkpoint have the layers that drafts are made with?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "draft_layers"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Drafts by MTP without an MTP layer end the start."""
    if settings.num_speculative_tokens and not given.model.mtp_layers:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_no_drafts", name=given.model.name))
