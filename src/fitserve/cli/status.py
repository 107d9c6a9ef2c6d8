"""`fitserve status`: what runs here."""

from __future__ import annotations

import datetime
import json
import time
from typing import TYPE_CHECKING, Any

import click

from fitserve.run.evidence import clean
from fitserve.text import tr
from fitserve.units import format_bytes

if TYPE_CHECKING:
    from fitserve.run.live import Live
    from fitserve.run.view import View

SCHEMA_VERSION = 1
_COLOURS = {"answering": "green", "starting": "yellow", "hung": "red", "failed": "red", "stopped": None}


@click.command(help="What runs here: state, address, since when; why something is down.")
@click.argument("name", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(name: str, as_json: bool) -> None:
    from fitserve.errors import NotFound
    from fitserve.run.registry import broken
    from fitserve.run.view import look_at_all

    views, damaged = look_at_all(), broken()
    if name:
        views = tuple(view for view in views if view.deployment.name == name)
        damaged = {one: why for one, why in damaged.items() if one == name}
        if not views and not damaged:
            raise NotFound(tr("run.no_such", name=name), hint="fitserve status")
    if as_json:
        click.echo(json.dumps(document(views, damaged), ensure_ascii=False))
        return
    if not views and not damaged:
        click.echo(f"{tr('run.none_yet')}\n  {tr('failure.next')}fitserve up demo")
    if views:
        click.echo("\n".join(_lines(views)))
    for one, why in damaged.items():
        click.echo(f"{one}  {tr('run.broken_file')}\n    {tr('failure.evidence')}{why}")


def document(views: tuple[View, ...], damaged: dict[str, str]) -> dict[str, object]:
    """`status --json`."""
    rows = [_row(view) for view in views]
    rows += [{"name": name, "state": "failed", "reason": "broken_file", "detail": why} for name, why in damaged.items()]
    return {"schema_version": SCHEMA_VERSION, "kind": "status", "deployments": rows}


def _row(view: View) -> dict[str, object]:
    live = view.live
    return {
        "name": view.deployment.name,
        "state": view.state,
        "stage": live.stage if live and view.runs else None,
        "pid": live.engine.pid if live and live.engine and view.runs else None,
        "url": view.deployment.url,
        "page_url": view.page_url,
        "since": _moment(live.since) if live and live.since else None,
        "model": view.deployment.model,
        "engine": view.deployment.engine,
        "left_seconds": _left(view),
        "stages": [{"stage": moment.stage, "at_seconds": moment.at_s} for moment in live.stages] if live else [],
        "failures": live.failures if live else 0,
        "reason": (live.reason or None) if live else None,
        "detail": (live.detail or None) if live else None,
        "evidence": (live.evidence.text or None) if live else None,
        "diagnosis": (live.diagnosis or None) if live else None,
        "gpu_memory_held_by": list(live.held) if live else [],
        "problems": list(live.problems) if live else [],
    }


def _left(view: View) -> float | None:
    """Seconds until it answers, from earlier starts of the same plan; None where nothing is known."""
    from fitserve.run.estimate import seconds_left

    left = seconds_left(view.live) if view.live and view.state == "starting" else None
    return None if left is None else round(left, 1)


def _moment(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def _lines(views: tuple[View, ...]) -> list[str]:
    from fitserve.cli.up_result import padded, width

    head = tuple(tr(f"run.col_{column}") for column in ("name", "state", "since", "url", "page"))
    rows = [head, *(_cells(view) for view in views)]
    widths = [max(width(row[column]) for row in rows) for column in range(len(head))]
    told = []
    for number, row in enumerate(rows):
        cells = [padded(cell, columns) for cell, columns in zip(row, widths, strict=True)]
        if number:
            cells[1] = click.style(cells[1], fg=_COLOURS[views[number - 1].state])
        told.append("  ".join(cells).rstrip())
        if number:
            told += [f"    {note}" for note in _notes(views[number - 1])]
    return told


def _cells(view: View) -> tuple[str, ...]:
    from fitserve.cli.up_screen import left_text

    live = view.live
    since = time.strftime("%m-%d %H:%M:%S", time.localtime(live.since)) if live and live.since else "-"
    state = tr(f"run.state_{view.state}")
    if view.state == "starting" and live and live.stage:
        state += f"{tr('run.colon')}{tr(f'run.stage_{live.stage}')}{left_text(live)}"
    return view.deployment.name, state, since, f"{view.deployment.url}/v1" if view.runs else "-", view.page_url or "-"


def _notes(view: View) -> list[str]:
    from fitserve.cli.up_wait import evidence_text, reason_text

    live = view.live
    notes: list[str] = []
    if live is None:
        return notes
    if view.state == "failed":
        notes += (
            [reason_text(live), f"{tr('failure.evidence')}{evidence_text(live)}"]
            if live.evidence.text
            else [reason_text(live)]
        )
        notes += _advice(live)
    if view.state == "starting" and live.next_start > time.time():
        notes.append(tr("run.back_off", seconds=f"{live.next_start - time.time():.0f}"))
    if view.runs and live.failures:
        notes.append(tr("run.failing", failures=live.failures))
        notes += [*([reason_text(live)] if live.reason else []), *_word(live)]
    notes += [held_text(holder) for holder in live.held]
    return notes + [tr("run.problem_note", problem=problem) for problem in live.problems]


def _word(live: Live) -> list[str]:
    """The doctor's word on its last end."""
    summary = live.diagnosis.get("summary")
    return [f"{tr('run.diagnosis')}{clean(str(summary))}"] if summary else []


def _advice(live: Live) -> list[str]:
    """The doctor's word of that moment, and what to type next."""
    from fitserve.cli.up_retry import shown

    told = _word(live)
    flags = live.diagnosis.get("set")
    if isinstance(flags, dict) and flags:
        told.append(f"{tr('run.would_help')}fitserve up {live.name} {shown(flags)}")
    return [*told, f"{tr('failure.next')}fitserve doctor {live.name}"]


def held_text(holder: dict[str, Any]) -> str:
    """Who holds GPU memory, as a sentence."""
    unknown = tr("run.ledger_unknown")
    since = holder.get("since")
    return tr(
        "run.memory_held",
        pid=holder.get("pid"),
        process=clean(str(holder.get("process") or unknown)),
        owner=holder.get("owner") or unknown,
        since=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since)) if since else unknown,
        size=format_bytes(holder["used_bytes"]) if holder.get("used_bytes") else unknown,
    )
