"""`fitserve up`: plan, start under supervision, and wait until a question about a picture is answered."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fitserve.cli.plan_options import plan_options
from fitserve.cli.up_target import Wishes, target_name, wishes_again
from fitserve.errors import Interrupted, NotFound, OperationFailed, SettingsError, ToolMissing
from fitserve.text import current_language, tr

if TYPE_CHECKING:
    from fitserve.cli.up_result import Result
    from fitserve.cli.up_screen import Screen
    from fitserve.run.control import Control
    from fitserve.run.deployment import Deployment
    from fitserve.run.view import View

_NOT_FOR_UP = ("gpus", "engine_version")  # an `up` takes what is really there
_OWN = ("model", "passthrough", "name", "host", "port", "page", "page_port", "engine_python")


def _options(function: Any) -> Any:  # noqa: ANN401 - a decorator
    function = plan_options(function)
    function.__click_params__ = [one for one in function.__click_params__ if one.name not in _NOT_FOR_UP]
    return function


@click.command(help="Start MODEL (a folder, or demo) or a deployment by its NAME; wait until it answers.")
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
@click.option("--wait/--no-wait", default=True, help="return at once and leave the start to itself")
@click.option("-y", "--yes", is_flag=True, help="install a missing engine without asking")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: str,
    insecure: bool,
    timeout: float,
    wait: bool,
    yes: bool,
    as_json: bool,
    **said: Any,  # noqa: ANN401 - the plan's options, of many types
) -> None:
    from fitserve.cli.up_plan import refuse_open
    from fitserve.cli.up_screen import screen
    from fitserve.run.control import Control

    if not timeout > 0:
        raise SettingsError(tr("run.timeout_invalid", seconds=timeout), hint="fitserve up --help")
    given, explicit = _given(ctx, model, said)
    wishes = _wishes(given, explicit)
    refuse_open(wishes.host, os.environ, insecure)
    control = Control()
    with screen(as_json) as shown:
        result = _brought_up(wishes, explicit, control, shown, timeout if wait else 0.0, yes)
    _tell(result, as_json)
    if result.page_problem:
        ctx.exit(5)


def _given(ctx: click.Context, model: str, said: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """What was typed, as a table; whether any setting was."""
    if model.startswith("-"):  # `up -- --flag`: click takes the first flag for the model
        said["passthrough"], model = (model, *said["passthrough"]), ""
    typed = {
        name: value
        for name, value in said.items()
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT or name == "passthrough"
    }
    explicit = any(value for name, value in typed.items() if name not in ("name",))
    return {**typed, "model": model}, explicit


def _wishes(given: dict[str, Any], explicit: bool) -> Wishes:
    """The wishes of this call; those of the deployment's last start where only its name was typed."""
    from fitserve.run.registry import load

    name, model = target_name(given["model"], given.get("name", ""))
    try:
        before = load(name)
    except ValueError as error:
        if not model:
            raise OperationFailed(tr("run.broken_file"), evidence=str(error), hint="fitserve up MODEL") from error
        before = None
    if not model and before is None:
        raise NotFound(tr("run.no_such", name=name), hint="fitserve status")
    if before and before.wishes and not explicit and (not model or model == before.wishes.get("model")):
        with contextlib.suppress(ValueError):
            return wishes_again(name, before.wishes)
    if not model and before:
        model = str(before.wishes.get("model") or before.model)
    options = {key: value for key, value in given.items() if key not in _OWN}
    own = {key: given[key] for key in _OWN if key in given and key not in ("model", "name")}
    return Wishes(name=name, model=model, options=options, **own)


def _brought_up(wishes: Wishes, explicit: bool, control: Control, shown: Screen, timeout_s: float, yes: bool) -> Result:
    """Start it, or join what runs, and wait."""
    running = _running(wishes, explicit)
    if running is not None:
        return _joined(running, control, shown, timeout_s)
    draft = _draft(wishes, yes)
    with control.alone(wishes.name):
        running = _running(wishes, explicit)
        if running is None:
            deployment = _start(draft, control, shown)
    if running is not None:
        return _joined(running, control, shown, timeout_s)
    return _waited(deployment, control, shown, timeout_s)


def _running(wishes: Wishes, explicit: bool) -> View | None:
    """What runs under this name. Raises SettingsError where it was started with other settings."""
    from fitserve.run.view import look

    view = None
    with contextlib.suppress(ValueError):
        view = look(wishes.name)
    if view is None or not view.runs:
        return None
    asked = json.loads(json.dumps(wishes.table()))
    same = {key: value for key, value in view.deployment.wishes.items() if key in asked} == asked
    if explicit and not same:
        message = tr("run.other_settings", name=wishes.name, state=tr(f"run.state_{view.state}"))
        raise SettingsError(message, code="other_settings", hint=f"fitserve down {wishes.name}")
    return view


def _draft(wishes: Wishes, yes: bool) -> Any:  # noqa: ANN401 - up_plan is imported where it is used
    from fitserve.cli.up_plan import drafted, picked

    return drafted(wishes, lambda: picked(wishes.engine_python, lambda missing: _offered(missing, yes)), _taken())


def _taken() -> set[int]:
    """Ports of deployments that run or are on their way: they may not listen yet."""
    from fitserve.run.view import look_at_all

    taken: set[int] = set()
    for view in look_at_all():
        if view.runs:
            taken |= {view.deployment.port, view.deployment.page_port or 0}
    return taken


def _offered(missing: ToolMissing, yes: bool) -> bool:
    """Install the engine that the hint names, if the person wants it. Without a terminal only --yes is a yes."""
    spec = missing.hint.removeprefix("fitserve engine install ").strip()
    if spec == missing.hint:
        return False
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    if not yes and not (asks and click.confirm(tr("run.install_offer", what=spec), default=True, err=True)):
        return False
    from fitserve.engines.install import install
    from fitserve.engines.progress import shown

    with shown() as progress:
        install(spec, ask=lambda _: True, progress=progress)
    return True


def _start(draft: Any, control: Control, shown: Screen) -> Deployment:  # noqa: ANN401
    from fitserve.cli.up_page import has_gradio
    from fitserve.cli.up_plan import PAGE_PORT, chosen_port, frozen

    wishes, page_port = draft.wishes, None
    for notice in draft.notices:
        shown.note(notice)
    if wishes.page and has_gradio():
        taken = _taken() | {draft.request.port}
        page_port, notice = chosen_port("127.0.0.1", wishes.page_port, PAGE_PORT, taken, "run.page_port_moved")
        if notice:
            shown.note(notice)
    deployment = frozen(draft, page_port)
    shown.note(
        tr("run.starting", name=wishes.name, engine=deployment.engine, url=deployment.url, model=deployment.model)
    )
    with _undone_on_failure(deployment.name, control):
        control.start(deployment)
        if page_port:
            control.start_page(deployment, current_language())
    return deployment


@contextlib.contextmanager
def _undone_on_failure(name: str, control: Control) -> Iterator[None]:
    try:
        yield
    except BaseException:
        control.stop(name)
        raise


def _waited(deployment: Deployment, control: Control, shown: Screen, timeout_s: float) -> Result:
    """Wait for our own start. Whatever ends it early undoes it: nothing is left behind."""
    from fitserve.cli.up_page import has_gradio, install_line, page_problem
    from fitserve.cli.up_result import Result
    from fitserve.cli.up_wait import wait_until_answering
    from fitserve.run.live import Live, State

    if not timeout_s:
        return Result(deployment, Live(deployment.name, State.STARTING), False, deployment.page_url)
    try:
        live = wait_until_answering(deployment.name, control, timeout_s, shown)
        problem = page_problem(deployment, control) if deployment.page_port else ""
    except KeyboardInterrupt:
        _undo(deployment.name, control)
        message = tr("run.interrupted_stopped", name=deployment.name)
        raise Interrupted(message, hint=f"fitserve up {deployment.name}") from None
    except BaseException:
        _undo(deployment.name, control)
        raise
    wants_page = bool(deployment.wishes.get("page", True))
    install = install_line() if wants_page and not has_gradio() else ""
    return Result(deployment, live, False, None if problem else deployment.page_url, install, problem)


def _undo(name: str, control: Control) -> None:
    with control.alone(name):
        control.stop(name)


def _joined(view: View, control: Control, shown: Screen, timeout_s: float) -> Result:
    """It runs already, or somebody else is starting it: say so, and wait with them."""
    from fitserve.cli.up_result import Result
    from fitserve.cli.up_wait import wait_until_answering
    from fitserve.run.live import Live, State

    name = view.deployment.name
    live = view.live or Live(name, view.state)
    if view.state is not State.STARTING or not timeout_s:
        shown.note(tr("run.already", name=name, state=tr(f"run.state_{view.state}")))
        return Result(view.deployment, live, True, view.page_url)
    shown.note(tr("run.joined", name=name))
    try:
        live = wait_until_answering(name, control, timeout_s, shown)
    except KeyboardInterrupt:
        raise Interrupted(tr("run.interrupted_left", name=name), hint="fitserve status") from None
    return Result(view.deployment, live, True, view.deployment.page_url)


def _tell(result: Result, as_json: bool) -> None:
    from fitserve.cli.up_result import document, lines

    if as_json:
        click.echo(json.dumps(document(result), ensure_ascii=False))
    elif result.live.state == "answering":
        click.echo("\n".join(lines(result)))
    if result.page_problem and not as_json:
        click.echo(f"{tr('run.page_failed')}\n  {tr('failure.evidence')} {result.page_problem}", err=True)
        click.echo(f"  {tr('failure.next')} fitserve page {result.deployment.name}", err=True)
