"""Is the length within what the model was made for?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.parse import parse
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "length_within_model"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """vLLM refuses a longer one unless the rotations are stretched (--hf-overrides)."""
    most = given.model.max_positions
    if most is None or settings.max_model_len <= most or "--hf-overrides" in parse(settings.extra).flags:
        return
    said = tr("plan.check_length_above", length=f"{settings.max_model_len:,}", most=f"{most:,}")
    yield Check(NAME, CheckState.FAIL, said)
