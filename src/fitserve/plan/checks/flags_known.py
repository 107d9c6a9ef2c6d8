"""Are the flags that go through to vLLM flags of vLLM?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.parse import ParsedCommand, flag_kinds, parse
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "flags_known"
_OFF = ("--no-", "--disable-")


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """Fails for a flag that is gone or mistyped: vLLM ends with "unrecognized arguments"."""
    if settings.extra:
        parsed = parse(settings.extra)
        yield from (Check(NAME, CheckState.FAIL, gone_said(flag)) for flag in parsed.gone)
        for flag in parsed.unknown:
            yield Check(NAME, CheckState.FAIL if meant(flag) else CheckState.UNKNOWN, unknown_said(flag))


def meant(flag: str) -> str:
    """The flag of vLLM that an unknown one is nearest to; "" where none is near, or where it says the opposite."""
    near = next(iter(difflib.get_close_matches(flag, flag_kinds(), 1, 0.75)), "")
    return near if near.startswith(_OFF) == flag.startswith(_OFF) else ""


def misnamed(parsed: ParsedCommand) -> dict[str, str]:
    """What is said of each flag that vLLM does not take."""
    return {flag: gone_said(flag) for flag in parsed.gone} | {flag: unknown_said(flag) for flag in parsed.unknown}


def gone_said(flag: str) -> str:
    """A flag that vLLM had once."""
    return tr("plan.check_flag_gone", flag=flag)


def unknown_said(flag: str) -> str:
    """A flag that the list of vLLM's flags does not have."""
    near = meant(flag)
    return tr(
        "plan.check_flag_unknown", flag=flag, meant=tr("plan.check_flag_meant", near=near) if near else ""
    ).strip()
