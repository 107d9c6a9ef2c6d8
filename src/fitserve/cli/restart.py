"""`fitserve restart`: stop a deployment and start it again as it was frozen; its page stays."""

from __future__ import annotations

import json

import click

from fitserve.errors import Interrupted
from fitserve.text import tr


@click.command(help="Stop and start a deployment with the settings that it has; wait until it answers.")
@click.argument("name", required=False, default="")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=1800.0, help="seconds to wait")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(name: str, timeout: float, as_json: bool) -> None:
    from fitserve.cli.named import loaded, one_of
    from fitserve.cli.up_result import Result, document, lines, with_lesson
    from fitserve.cli.up_screen import screen
    from fitserve.cli.up_wait import wait_until_answering
    from fitserve.run.control import Control
    from fitserve.run.view import look

    name = one_of(name)
    deployment = loaded(name)
    assert deployment is not None
    control = Control()
    with screen(as_json) as shown:
        shown.note(tr("run.restarting", name=name))
        with control.alone(name):
            control.stop(name, with_page=False)
            control.start(deployment)
        try:
            live = wait_until_answering(name, control, timeout, shown)
        except BaseException as error:
            with control.alone(name):
                control.stop(name)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(tr("run.interrupted_stopped", name=name), hint=f"fitserve up {name}") from None
            raise
    view = look(name)
    result = with_lesson(Result(deployment, live, False, view.page_url if view else None))
    click.echo(json.dumps(document(result), ensure_ascii=False) if as_json else "\n".join(lines(result)))
