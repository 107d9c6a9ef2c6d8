"""`fitserve down`: stop a deployment and give everything back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.run.control import Control


@click.command(help="Stop a deployment; returns when its processes, ports and memory are back.")
@click.argument("name", required=False, default="")
@click.option("--all", "everything", is_flag=True, help="every deployment, and the supervisor itself")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(name: str, everything: bool, as_json: bool) -> None:
    from fitserve.cli.named import one_of
    from fitserve.run.control import Control
    from fitserve.run.registry import names

    if name and everything:
        raise SettingsError(tr("run.name_and_all"), hint="fitserve down --all")
    control = Control()
    stopped = {one: _stop(one, control) for one in (names() if everything else [one_of(name)])}
    if everything:
        control.supervisor.end()
    if as_json:
        rows = [{"name": one, "was_running": ran} for one, ran in stopped.items()]
        click.echo(json.dumps({"schema_version": 1, "kind": "down", "deployments": rows}, ensure_ascii=False))
        return
    for one, ran in stopped.items():
        if everything and not ran:
            continue
        click.echo(tr("run.stopped_here" if ran else "run.not_running", name=one))
    if everything:
        click.echo(tr("run.all_stopped"))


def _stop(name: str, control: Control) -> bool:
    from fitserve.cli.status import held_text
    from fitserve.observe.record import close_record
    from fitserve.run.live import read_live

    if control.seems_to_run(name):
        click.echo(tr("run.stopping", name=name), err=True)
    with control.alone(name):
        ran = control.stop(name)
        close_record(name, control.clock)
    live = read_live(name)
    for holder in live.held if live else ():
        click.echo(held_text(holder), err=True)
    return ran
