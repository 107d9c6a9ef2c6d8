"""The table of wrong settings for a terminal: `doctor --mistakes`, and the topic `mistakes` of `explain`."""

from __future__ import annotations

import json

import click

from fitserve.diagnose.mistakes import mistakes
from fitserve.text import tr


def show(*, as_json: bool = False) -> None:
    """Print every row: the wrong setting, what is seen, the right one."""
    rows = mistakes()
    if as_json:
        body = [{"cause": r.cause, "setting": r.setting, "symptom": r.symptom, "right": r.right} for r in rows]
        click.echo(json.dumps({"schema_version": 1, "kind": "mistakes", "mistakes": body}, ensure_ascii=False))
        return
    for row in rows:
        click.echo(click.style(row.setting, fg="red"))
        click.echo(f"  {tr('mistakes.head_symptom')}{tr('mistakes.colon')}{row.symptom}  ({row.cause})")
        click.echo(f"  {tr('mistakes.head_right')}{tr('mistakes.colon')}{click.style(row.right, fg='green')}")
