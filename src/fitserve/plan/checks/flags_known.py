"""Are the flags that go through to vLLM flags of vLLM?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.parse import flag_kinds, parse
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "flags_known"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails for a flag that is gone or mistyped: vLLM ends with "unrecognized arguments"."""
    if not settings.extra:
        return
    parsed = parse(settings.extra)
    for flag in parsed.gone:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_flag_gone", flag=flag))
    for flag in parsed.unknown:
        near = difflib.get_close_matches(flag, flag_kinds(), 1, 0.75)
        meant = tr("plan.check_flag_meant", near=near[0]) if near else ""
        state = CheckState.FAIL if near else CheckState.UNKNOWN
        yield Check(NAME, state, tr("plan.check_flag_unknown", flag=flag, meant=meant).strip())
