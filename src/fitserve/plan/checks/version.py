"""Were the rules of this release read?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.versions import NEWEST, OLDEST, release
from fitserve.text import tr

NAME = "release_read"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Unknown outside of the releases whose sources were read: the nearest one's rules are taken there."""
    at = given.rules.release
    if given.engine.version is None or not OLDEST <= at <= release(NEWEST):
        oldest = ".".join(map(str, OLDEST))
        said = tr("plan.check_release_unread", version=given.engine.version or "?", oldest=oldest, newest=NEWEST)
        yield Check(NAME, CheckState.UNKNOWN, said)
