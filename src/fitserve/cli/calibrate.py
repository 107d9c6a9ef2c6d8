"""`fitserve calibrate`: the figures behind the intervals and where each is from; and a measured start added to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.errors import NotFound, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.plan.calibration import Calibration

NAMES = (
    "context", "communicators", "non_torch", "late_channels", "graph_base", "graph_each",
    "vision", "language", "sampler", "compile",
)  # fmt: skip


@click.command()
@click.argument("name", required=False)
@click.option("--from", "log", type=click.Path(path_type=Path), help="a start's log, in place of a deployment's")
@click.option("--command", "their_command", metavar='"vllm serve …"', help="the command of that log")
@click.option("--gpus", default="auto", help="the cards: auto, 2xRTX3090, recorded:FILE")
@click.option("--engine-version", default=None, help="the vLLM version of the log, where it does not say it")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(
    name: str | None, log: Path | None, their_command: str | None, gpus: str, engine_version: str | None, as_json: bool
) -> int:
    """Show the figures behind the intervals for the cards here (or --gpus), each with its source.

    With NAME (a deployment) or --from LOG --command "…": put that start's measured ledger beside the predicted one, and
    keep what it teaches.
    """
    if name is None and log is None:
        return _show(gpus, engine_version, as_json)
    return _learn(name, log, their_command, gpus, engine_version, as_json)


def calibration_dir() -> Path:
    """Where this machine's own figures are kept."""
    from fitserve.paths import state_dir

    return state_dir() / "calibration"


def _show(gpus: str, version: str | None, as_json: bool) -> int:
    from fitserve.cli.plan_machine import assumed_engine, cards_of
    from fitserve.plan.calibration import calibration_for
    from fitserve.plan.learn import learned_files

    cards = cards_of(gpus)
    if cards is None:
        raise SettingsError(tr("calibrate.no_card"), hint="fitserve calibrate --gpus 1xRTX3090")
    engine = assumed_engine(cards, version)
    files = learned_files(calibration_dir())
    found = {card.name: calibration_for(card.name, engine.version, files) for card in cards}
    if as_json:
        _print({"kind": "calibration", "engine_version": engine.version, "cards": {
            card: _document(item) for card, item in found.items()}})  # fmt: skip
        return 0
    for card, item in found.items():
        own = tr("calibrate.own" if item.gpu else "calibrate.common", name=item.name, engine=item.engine or "–")
        click.secho(f"{card} · vLLM {engine.version} · {own}", bold=True)
        for name in NAMES:
            low, middle, high = getattr(item, name)
            unit = "MiB" if name in NAMES[:6] else "×"
            click.echo(f"  {tr(f'calibrate.{name}'):<42} {low:>8.2f} {middle:>8.2f} {high:>8.2f} {unit}")
        for source in item.sources:
            click.echo(f"  {tr('calibrate.source')} {source}")
    return 0


def _document(item: Calibration) -> dict[str, object]:
    spans = {name: list(getattr(item, name)) for name in NAMES}
    return {"file": item.name, "basis": item.basis.value, "spans": spans, "sources": list(item.sources)}


def _learn(name: str | None, log: Path | None, text: str | None, gpus: str, version: str | None, as_json: bool) -> int:
    from fitserve.cli.calibrate_start import kept, ranked, row_lines, row_tables
    from fitserve.cli.plan_machine import cards_of

    if name and not log and _on_cpu(name):
        return _show_cpu(name, as_json)
    path, argv = _start_of(name, log, text)
    figures, logged = _figures(path)
    cards = cards_of(gpus)
    if cards is None:
        raise SettingsError(tr("calibrate.no_card"), hint="fitserve calibrate --gpus 1xRTX3090")
    lesson = kept(ranked(argv, cards, version or logged), figures, _source(name, path))
    if lesson is None:
        raise NotFound(tr("calibrate.nothing", path=path), hint="VLLM_LOGGING_LEVEL=DEBUG")
    if as_json:
        rows = row_tables(lesson.rows)
        _print({"kind": "calibration", "file": str(lesson.file), "learned": lesson.values, "rows": rows})
        return 0
    click.echo("\n".join([tr("calibrate.head"), *row_lines(lesson.rows), tr("calibrate.kept", file=lesson.file)]))
    return 0


def _on_cpu(name: str) -> bool:
    from fitserve.run.registry import load

    deployment = load(name)
    return deployment is not None and "cpu" in deployment.engine


def _show_cpu(name: str, as_json: bool) -> int:
    """A CPU engine's plan has no intervals to narrow; predicted beside measured is shown all the same."""
    from fitserve.cli.up_result import compared, ledger_lines
    from fitserve.run.live import read_live
    from fitserve.run.registry import load

    deployment, live = load(name), read_live(name)
    if deployment is None or live is None or not live.measured:
        raise NotFound(tr("calibrate.not_measured", name=name), hint=f"fitserve up {name}")
    rows = compared(deployment, live)
    if as_json:
        _print({"kind": "calibration", "file": None, "learned": {}, "rows": [row.table() for row in rows]})
    else:
        click.echo("\n".join([*ledger_lines(rows), tr("calibrate.cpu")]))
    return 0


def _source(name: str | None, path: Path) -> str:
    """A start is counted once, whether `up` learned from it or this command does."""
    from fitserve.cli.calibrate_start import source_of
    from fitserve.run.live import read_live

    live = read_live(name) if name else None
    return source_of(live) if live and live.engine else f"{name or path.name} {path.stat().st_mtime_ns}"


def _start_of(name: str | None, log: Path | None, text: str | None) -> tuple[Path, str | tuple[str, ...]]:
    from fitserve.run.deployment import engine_log
    from fitserve.run.registry import load

    if log is not None:
        if not text:
            hint = 'fitserve calibrate --from LOG --command "vllm serve …"'
            raise SettingsError(tr("calibrate.needs_command"), hint=hint)
        if not log.is_file():
            raise NotFound(tr("calibrate.no_log", path=log), hint="fitserve calibrate --help")
        return log, text
    deployment = load(name or "")
    if deployment is None:
        raise NotFound(tr("calibrate.no_deployment", name=name), hint="fitserve status")
    return engine_log(deployment.name), deployment.argv


def _figures(path: Path) -> tuple[dict[str, object], str | None]:
    from fitserve.observe.log.read import read_lines
    from fitserve.observe.log.source import lines_of, open_log

    with open_log(path) as stream:
        reading = read_lines(lines_of(stream))
    return dict(reading.start.figures), reading.start.version


def _print(document: dict[str, object]) -> None:
    import json

    click.echo(json.dumps({"schema_version": 1, **document}, ensure_ascii=False, indent=1))
