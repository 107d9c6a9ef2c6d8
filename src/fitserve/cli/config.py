"""`fitserve config show [NAME]`: the settings in force for a deployment, each with the place it came from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fitserve.cli.config_file import PROJECT_FILE, Origin, known_deployments, origins
from fitserve.errors import NotFound
from fitserve.paths import config_file
from fitserve.text import tr


@click.group(name="config")
def command() -> None:
    """Settings files: `fitserve.toml` here, and the user's own."""


@command.command()
@click.argument("name", required=False, default="")
@click.option("--origin", is_flag=True, help="say where each value comes from, defaults too")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def show(name: str, origin: bool, as_json: bool) -> None:
    """What is in force for NAME, or for every deployment that the files describe."""
    names = (name,) if name else known_deployments()
    if not names:
        raise NotFound(tr("config.no_files", user=config_file(), project=Path.cwd() / PROJECT_FILE), hint="fitserve up")
    settings = {one: _in_force(one, everything=origin) for one in names}
    if as_json:
        click.echo(json.dumps(_document(settings), ensure_ascii=False, indent=1))
        return
    for one, values in settings.items():
        click.secho(f"[deployments.{one}]", bold=True)
        for key, value in values.items():
            click.echo(f"{key} = {json.dumps(value.value, ensure_ascii=False)}" + (f"  # {value.place}" * origin))


def _in_force(name: str, *, everything: bool) -> dict[str, Origin]:
    """As `up NAME` would read them; without `everything` only what somebody wrote."""
    from fitserve.cli.config_file import deployment_values
    from fitserve.cli.up import command as up

    context = up.make_context("up", [name])
    found = origins(context, name)
    model = deployment_values(name, context.params).get("model", Origin("", "default"))
    found["model"] = model
    own = ("passthrough", "as_json", "help", "lang", "yes", "wait", "timeout")
    return {key: value for key, value in found.items() if key not in own and (everything or value.place != "default")}


def _document(settings: dict[str, dict[str, Origin]]) -> dict[str, object]:
    tables = {
        name: {key: {"value": one.value, "origin": one.place} for key, one in values.items()}
        for name, values in settings.items()
    }
    return {"schema_version": 1, "kind": "config", "deployments": tables}
