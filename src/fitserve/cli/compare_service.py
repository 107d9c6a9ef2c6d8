"""A setting's service for a comparison: a deployment of its own, under a name and a port of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.compare_settings import merged
from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.cli.up_result import Result
    from fitserve.cli.up_screen import Screen
    from fitserve.cli.up_target import Wishes
    from fitserve.measure.compare import Running
    from fitserve.run.control import Control
    from fitserve.run.view import View

_SUFFIX = "-compared"
_NAME_LIMIT = 40


@dataclass(frozen=True)
class DeploymentService:
    """Starts each setting as `up` would."""

    base: Wishes
    settings: dict[str, dict[str, Any]]  # label -> options
    control: Control
    shown: Screen
    timeout_s: float

    def start(self, setting: str) -> Running:
        """From clean to the first right answer. Raises FitserveError."""
        from fitserve.cli.up_start import Start

        self.stop()
        values = merged(dict(self.base.values), self.settings[setting]) | {"port": own_port()}
        begun = time.monotonic()
        result = Start(replace(self.base, values=values), self.control, self.shown, self.timeout_s, yes=False).run()
        return running(result, time.monotonic() - begun)

    def stop(self) -> None:
        """Stop it and forget it; nothing of a comparison stays in `status`."""
        from fitserve.run.registry import forget, load

        name = self.base.name
        if load(name) is None:
            return
        with self.control.alone(name):
            self.control.stop(name)
        forget(name)


def own_port() -> int:
    """One that the system has free, far from those that people and their services ask for."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def running(result: Result, seconds: float) -> Running:
    """What a comparison needs to know of a deployment that answers."""
    from fitserve.chat.endpoint import Endpoint
    from fitserve.measure.compare import Running
    from fitserve.measure.results import deployment_table

    deployment, live = result.deployment, result.live
    key = deployment.env.get("VLLM_API_KEY", "")
    endpoint = Endpoint(deployment.url, deployment.served_model_name, key)
    stages = tuple((str(moment.stage), moment.at_s) for moment in live.stages)
    return Running(endpoint, seconds, stages, deployment_table(deployment, live))


def base_wishes(name: str, engine_python: str) -> Wishes:
    """What NAME (a deployment, `demo`, or a model's folder) is started with, under the comparison's own name.

    What fitserve.toml and FITSERVE_* say counts as for `up`. Raises NotFound, SettingsError.
    """
    from fitserve.cli.up import command as up
    from fitserve.cli.up_target import read_wishes

    with up.make_context("up", [name]) as ctx:
        wishes = read_wishes(ctx, name, "")
    values = dict(wishes.values) | {"page": False} | ({"engine_python": engine_python} if engine_python else {})
    for key in ("port", "page_port", "host"):
        values.pop(key, None)
    label = wishes.name[: _NAME_LIMIT - len(_SUFFIX)].rstrip("-._") + _SUFFIX
    return replace(wishes, name=label, values=values, typed={})


@contextlib.contextmanager
def room(control: Control, stop_running: bool) -> Iterator[None]:
    """Nothing else runs meanwhile. What runs is stopped only when told so, and started again afterwards.

    Raises SettingsError.
    """
    from fitserve.run.view import look_at_all

    views = [view for view in look_at_all(control.supervisor) if view.runs]
    if views and not stop_running:
        names = ", ".join(view.deployment.name for view in views)
        raise SettingsError(tr("measure.something_runs", names=names), hint=tr("measure.something_runs_next"))
    for view in views:
        click.echo(tr("measure.stopped_for_now", name=view.deployment.name), err=True)
        with control.alone(view.deployment.name):
            control.stop(view.deployment.name)
    try:
        yield
    finally:
        for view in views:
            _again(control, view)


def _again(control: Control, view: View) -> None:
    from fitserve.text import current_language

    click.echo(tr("measure.started_again", name=view.deployment.name), err=True)
    with control.alone(view.deployment.name):
        control.start(view.deployment)
        if view.page_runs:
            control.start_page(view.deployment, current_language())
