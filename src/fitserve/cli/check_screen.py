"""Checks as lines: mark, name, detail; below it what proves it and what to type. Shared by `check` and `verify`."""

from __future__ import annotations

import click

from fitserve.chat.clean import strip_control
from fitserve.cli.up_result import padded
from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr

NAME_COLUMNS = 22
_MARKS = {CheckState.OK: "✓", CheckState.WARN: "!", CheckState.FAIL: "✗", CheckState.UNKNOWN: "?"}
_COLOURS = {CheckState.OK: "green", CheckState.WARN: "yellow", CheckState.FAIL: "red", CheckState.UNKNOWN: "cyan"}
_WORST = (CheckState.OK, CheckState.UNKNOWN, CheckState.WARN, CheckState.FAIL)
FAIL_ON = ("fail", "warn", "unknown")


def lines(check: Check, title: str, seconds: float | None = None) -> list[str]:
    """One check for a person. The evidence of what is well is left out; `--json` has it."""
    mark = click.style(_MARKS[check.state], fg=_COLOURS[check.state], bold=True)
    took = "" if seconds is None else f"{seconds:6.1f} s  "
    told = [f"{mark} {took}{padded(title, NAME_COLUMNS)} {strip_control(check.detail)}"]
    if check.state is CheckState.OK:
        return told
    space = " " * (len(took) + 2)
    if check.evidence:
        told.append(f"{space}{tr('failure.evidence')}{strip_control(check.evidence)}")
    if check.hint:
        told.append(f"{space}{tr('failure.next')}{check.hint}")
    return told


def titled(area: str, name: str) -> str:
    """The check's name in the reader's language; those of the plan keep their own."""
    stem, _, number = name.rpartition("_")
    if number.isdecimal() and stem:
        return f"{titled(area, stem)} {number}"
    try:
        return tr(f"{area}.name_{name}")
    except KeyError:
        return name.replace("_", " ")


def worst(checks: list[Check]) -> CheckState:
    """The state of the whole."""
    return max((check.state for check in checks), key=_WORST.index, default=CheckState.UNKNOWN)


def summary(checks: list[Check]) -> str:
    """`14 ok · 1 warning · 0 failed · 2 unknown`."""
    counts = {state.value: sum(check.state is state for check in checks) for state in CheckState}
    return tr("check.summary", **counts)


def exit_code(checks: list[Check], fail_on: str) -> int:
    """5 where a line is as bad as `fail_on`, or worse."""
    bad = _WORST[_WORST.index(CheckState(fail_on)) :]
    return 5 if any(check.state in bad for check in checks) else 0


def rows(checks: list[Check]) -> list[dict[str, object]]:
    """For JSON."""
    return [
        {
            "name": check.name,
            "state": check.state.value,
            "detail": check.detail,
            "evidence": check.evidence or None,
            "hint": check.hint or None,
        }
        for check in checks
    ]
