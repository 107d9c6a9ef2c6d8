"""What `up` ends with: the two addresses, the proof, and the ledger, planned beside measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.calibrate_start import learn_start, row_lines, row_tables
from fitserve.run.deployment import Deployment
from fitserve.run.evidence import clean
from fitserve.run.live import Live
from fitserve.text import tr
from fitserve.units import format_bytes

if TYPE_CHECKING:
    from fitserve.plan.learn import Row

SCHEMA_VERSION = 1
_BYTES = ("weights", "kv_pool", "memory")
_COUNTS = ("kv_blocks", "kv_tokens", "concurrency")


@dataclass(frozen=True)
class Result:
    """An `up` that came to its end."""

    deployment: Deployment
    live: Live
    already: bool
    page_url: str | None
    page_problem: str = ""  # why it did not come up
    learned: tuple[Row, ...] = ()  # rows of a GPU's ledger beside what the engine's log stated


@dataclass(frozen=True)
class Compared:
    """A figure, planned and measured. None is unknown."""

    item: str
    planned: float | None
    measured: float | None

    @property
    def error(self) -> float | None:
        """Planned less measured."""
        return None if self.planned is None or self.measured is None else self.planned - self.measured

    def table(self) -> dict[str, object]:
        """For JSON."""
        return vars(self) | {"error": self.error}


def compared(deployment: Deployment, live: Live) -> list[Compared]:
    """The figures that both sides have words for."""
    plan, measured = deployment.plan, live.measured
    rows = [Compared("weights", _row(plan, "weights"), _figure(measured, "weights_bytes"))]
    rows.append(Compared("kv_pool", _row(plan, "kv_pool"), _figure(measured, "kv_bytes")))
    rows.append(Compared("memory", _whole(plan), _figure(measured, "memory_bytes")))
    kv: Any = plan.get("kv") or {}
    for item, key in (("kv_blocks", "blocks"), ("kv_tokens", "tokens"), ("concurrency", "concurrency")):
        rows.append(Compared(item, _figure(kv, key), _figure(measured, item)))
    return [row for row in rows if row.planned is not None or row.measured is not None]


def document(result: Result) -> dict[str, object]:
    """`up --json`."""
    deployment, live = result.deployment, result.live
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "up",
        "name": deployment.name,
        "state": live.state,
        "already_running": result.already,
        "url": deployment.url,
        "page_url": result.page_url,
        "page_problem": result.page_problem or None,
        "engine": deployment.engine,
        "stages": [{"stage": moment.stage, "at_seconds": moment.at_s} for moment in live.stages],
        "retries": deployment.retry,
        "probe": live.probe or None,
        "ledger": [row.table() for row in compared(deployment, live)],
        "learned": row_tables(result.learned),
        "problems": list(live.problems),
    }


def lines(result: Result) -> list[str]:
    """For a person."""
    deployment, live = result.deployment, result.live
    seconds = next((moment.at_s for moment in live.stages if moment.stage == "answering"), 0.0)
    head = tr("run.answers_at", name=deployment.name, seconds=f"{seconds:.1f}")
    told = [_titled(head), _fact("row_api", f"{deployment.url}/v1")]
    if result.page_url:
        told.append(_fact("row_page", result.page_url))
    told.append(_fact("row_proof", _proof(live)))
    told += [_fact("row_changed", _changed(deployment, change)) for change in deployment.retry]
    if deployment.demo:
        told.append(_fact("", tr("run.demo_note")))
    told += [_fact("", tr("run.problem_note", problem=problem)) for problem in live.problems]
    told += ["", *ledger_lines(compared(deployment, live)), ""]
    if result.learned:
        told += [f"  {line}" for line in (tr("calibrate.head"), *row_lines(result.learned))] + [""]
    told.append(_fact("row_next", f'fitserve chat {deployment.name} --image FILE "…"'))
    told.append(_fact("", f"fitserve status · fitserve logs {deployment.name} -f · fitserve down {deployment.name}"))
    return told


def with_lesson(result: Result) -> Result:
    """The result with what this start taught; one that ran before has taught it already."""
    lesson = None if result.already else learn_start(result.deployment, result.live)
    return replace(result, learned=lesson.rows) if lesson else result


def tell(result: Result, as_json: bool, tell_document: Callable[[dict[str, object]], None]) -> None:
    """The answer to stdout; what is wrong with the page to stderr."""
    if as_json:
        tell_document(document(result))
        return
    if result.live.probe:
        click.echo("\n".join(lines(result)))
    if result.page_problem:
        click.echo(f"{tr('run.page_failed')}\n  {tr('failure.evidence')}{result.page_problem}", err=True)
        click.echo(f"  {tr('failure.next')}fitserve page {result.deployment.name}", err=True)


def _changed(deployment: Deployment, change: dict[str, Any]) -> str:
    """What a failed start changed, and how to have it from the first start on."""
    from fitserve.cli.up_retry import shown

    flags = shown(change["set"])
    return tr("run.retry_kept", flags=flags, cause=change["cause"], command=f"fitserve up {deployment.name} {flags}")


def _proof(live: Live) -> str:
    probe = live.probe
    outcome = str(probe.get("outcome", ""))
    if outcome not in ("right", "answered", "text_only"):
        return tr("run.ledger_unknown")
    answer = clean(" ".join(str(probe.get("answer", "")).split()))[:80]
    return tr(f"run.proved_{outcome}", answer=answer, seconds=f"{_figure(probe, 'seconds') or 0.0:.1f}")


def ledger_lines(rows: list[Compared]) -> list[str]:
    """Planned beside measured, with the difference where there is one."""
    table = [tuple(tr(f"run.ledger_{column}") for column in ("title", "predicted", "measured", "error"))]
    table += [
        (tr(f"run.item_{row.item}"), _shown(row, row.planned), _shown(row, row.measured), _apart(row)) for row in rows
    ]
    sizes = [max(width(line[column]) for line in table) for column in range(4)]
    lines = (
        "   ".join([padded(line[0], sizes[0]), *(padded(line[at], sizes[at], right=True) for at in (1, 2, 3))])
        for line in table
    )
    return [f"  {line}".rstrip() for line in lines]


def _apart(row: Compared) -> str:
    """Measured less planned, as a reader takes a sign: `-` is less than was planned."""
    error = row.error
    if error is None:
        return ""
    shown = _shown(row, abs(error))
    return "=" if shown.strip("0.BMGKi ") == "" else f"{'-' if error > 0 else '+'}{shown}"


def _shown(row: Compared, value: float | None) -> str:
    if value is None:
        return tr("run.ledger_unknown")
    if row.item in _BYTES:
        return format_bytes(int(value))
    return f"{value:.2f}" if row.item == "concurrency" else f"{int(value):,}"


def width(text: str) -> int:
    """Columns of a terminal: a Chinese character takes two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text in so many columns."""
    space = " " * (columns - width(text))
    return space + text if right else text + space


def _titled(text: str) -> str:
    return click.style(text, bold=True)


def _fact(key: str, text: str) -> str:
    title = tr(f"run.{key}") if key else ""
    return f"  {padded(title, 12)}{text}"


def _row(plan: dict[str, object], item: str) -> float | None:
    ledger: Any = plan.get("ledger") or []
    return next((_figure(row, "expected") for row in ledger if row.get("item") == item), None)


def _whole(plan: dict[str, object]) -> float | None:
    """All rows that stay, for every rank; unknown where one is."""
    ledger: Any = plan.get("ledger") or []
    settings: Any = plan.get("settings") or {}
    parts = [_figure(row, "expected") for row in ledger if row.get("item") != "reserve" and not row.get("transient")]
    known = [part for part in parts if part is not None]
    return sum(known) * int(settings.get("tensor_parallel_size", 1)) if len(known) == len(parts) and known else None


def _figure(table: dict[str, object], key: str) -> float | None:
    value = table.get(key)
    return value if isinstance(value, (int, float)) else None
