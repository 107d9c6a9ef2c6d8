"""Does this version know the model's class?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.versions import too_old
from fitserve.text import tr

NAME = "architecture_known"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails where the registry of the version does not have the architecture; unknown where we do not know it."""
    name, version = given.model.architecture, given.engine.version
    first = too_old(name, version)
    if first is not None:
        wanted = f"{first[0]}.{first[1]}"
        yield Check(NAME, CheckState.FAIL, tr("plan.check_too_old", architecture=name, version=version, first=wanted))
    elif kv is None:
        yield Check(NAME, CheckState.UNKNOWN, tr("plan.check_architecture_unknown", architecture=name or "?"))
    else:
        yield Check(NAME, CheckState.OK, tr("plan.check_architecture_known", architecture=name))
