"""`fitserve config show [NAME]`: the settings in force for a deployment, each with the place it came from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fitserve.cli.config_file import NOT_SETTINGS, OF_THE_CALL, PROJECT_FILE, Origin, known_deployments, origins
from fitserve.errors import NotFound
from fitserve.paths import config_file
from fitserve.text import tr


@click.group(name="config")
def command() -> None:
    """Settings files: `fitserve.toml` here, and the user's own."""


@command.command()
@click.argument("name", required=False, default="")
@click.option("--origin", is_flag=True, help="the defaults, too")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def show(name: str, origin: bool, as_json: bool) -> None:
    """What is in force for NAME, or for every deployment that the files describe."""
    names = (name,) if name else known_deployments()
    if not names:
        raise NotFound(tr("config.no_files", user=config_file(), project=Path.cwd() / PROJECT_FILE), hint="fitserve up")
    if name and name not in known_deployments() and not _was_started(name):
        hint = "fitserve config show" if known_deployments() else "fitserve status"
        raise NotFound(tr("config.no_deployment", name=name), evidence=", ".join(known_deployments()), hint=hint)
    settings = {one: _in_force(one, everything=origin) for one in names}
    if as_json:
        click.echo(json.dumps(_document(settings), ensure_ascii=False, indent=1))
        return
    for one, values in settings.items():
        click.secho(f"[deployments.{one}]", bold=True)
        for key, value in values.items():
            click.echo(f"{key} = {json.dumps(value.value, ensure_ascii=False)}  # {value.place}")


def _in_force(name: str, *, everything: bool) -> dict[str, Origin]:
    """As `up NAME` would read them; without `everything` only what somebody wrote."""
    from fitserve.cli.config_file import deployment_values
    from fitserve.cli.up import command as up

    context = up.make_context("up", [name])
    found = origins(context, name)
    model = deployment_values(name, context.params).get("model", Origin("", "default"))
    found["model"] = model
    hidden = (*NOT_SETTINGS, *OF_THE_CALL)
    return {key: one for key, one in found.items() if key not in hidden and (everything or one.place != "default")}


def _was_started(name: str) -> bool:
    from fitserve.run.registry import names

    return name in names()


def _document(settings: dict[str, dict[str, Origin]]) -> dict[str, object]:
    tables = {
        name: {key: {"value": one.value, "origin": one.place} for key, one in values.items()}
        for name, values in settings.items()
    }
    return {"schema_version": 1, "kind": "config", "deployments": tables}
