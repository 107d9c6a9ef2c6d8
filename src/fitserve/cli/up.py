"""`fitserve up`: plan, start under supervision, and wait until a question about a picture is answered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.plan_options import plan_options
from fitserve.cli.up_target import read_wishes
from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.plan.plan import Plan

_NOT_FOR_UP = ("gpus", "engine_version")  # an `up` takes what is really there


def _plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    function = plan_options(function)
    kept = [one for one in function.__click_params__ if one.name not in _NOT_FOR_UP]  # type: ignore[attr-defined]  # click's own place
    function.__click_params__ = kept  # type: ignore[attr-defined]
    return function


@click.command(
    help="Start MODEL (a folder, a hub id, a known model, or demo) or a deployment by its NAME; wait until it answers."
)
@click.argument("model", metavar="[MODEL|NAME]", required=False, default="")
@click.argument("passthrough", metavar="[-- VLLM FLAGS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", default="", help="the deployment's name (default: from the model)")
@click.option("--host", default="127.0.0.1", help="where to listen; anything but this machine needs a key")
@click.option("--port", type=click.IntRange(1, 65535), help="the API's port (default: 8000 or the next free one)")
@click.option("--page/--no-page", default=True, help="with the chat page, or without")
@click.option("--page-port", type=click.IntRange(1, 65535), help="the page's port (default: 7860 or the next free one)")
@click.option("--engine-python", default="", help="an interpreter that has vLLM, in place of a managed engine")
@click.option("--insecure", is_flag=True, help="listen on the network without a key")
@click.option("--timeout", type=float, default=1800.0, help="seconds to wait for an answer (default 1800)")
@click.option("--retry/--no-retry", default=True, help="after a failure for memory, once more with what would fit")
@click.option("--wait/--no-wait", default=True, help="return at once and leave the start to itself")
@click.option("-y", "--yes", is_flag=True, help="install a missing engine without asking")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@_plan_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: str,
    name: str,
    insecure: bool,
    timeout: float,
    retry: bool,
    wait: bool,
    yes: bool,
    as_json: bool,
    **_options: Any,  # noqa: ANN401 - the plan's options, of many types, read from the context
) -> None:
    from fitserve.cli.up_plan import refuse_open, refuse_unlistenable
    from fitserve.cli.up_result import tell, with_lesson
    from fitserve.cli.up_screen import screen
    from fitserve.cli.up_start import Start
    from fitserve.run.control import Control

    if not timeout > 0:
        raise SettingsError(tr("run.timeout_invalid", seconds=timeout), hint="fitserve up --help")
    if model.startswith("-"):  # `up -- --flag`: click takes the first flag for the model
        ctx.params["passthrough"], model = (model, *ctx.params["passthrough"]), ""
    wishes = read_wishes(ctx, model, name)
    refuse_unlistenable(wishes)
    refuse_open(wishes.host, os.environ, insecure)
    with screen(as_json) as shown:
        limit_s, refused = timeout if wait else 0.0, _hidden if as_json else _shown
        start = Start(wishes, Control(), shown, limit_s, yes, refused, retry)
        result = start.run()
    result = with_lesson(result)
    tell(result, as_json, lambda document: click.echo(json.dumps(document, ensure_ascii=False)))
    if result.page_problem:
        ctx.exit(5)


def _shown(plan: Plan) -> None:
    """A plan that does not fit is printed all the same."""
    from fitserve.cli.plan_screen import show_plan

    show_plan(plan)


def _hidden(_: Plan) -> None:
    """The one JSON document is the error."""
