"""From wishes to a deployment: engine, facts, plan, ports. Nothing is written here and nothing is started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.cli.up_target import DEMO, Wishes, model_folder
from fitserve.errors import DoesNotFit, OperationFailed, ProblemsFound, SettingsError, ToolMissing
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.facts.engine import EngineFacts
    from fitserve.facts.gpu import Gpu
    from fitserve.facts.model import ModelFacts
    from fitserve.plan.plan import Plan
    from fitserve.plan.request import PlanRequest
    from fitserve.run.deployment import Deployment

API_PORT, PAGE_PORT = 8000, 7860
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Draft:
    """A plan, and where it is to listen."""

    plan: Plan
    request: PlanRequest
    wishes: Wishes
    notices: tuple[str, ...] = ()


def drafted(
    wishes: Wishes,
    pick: Callable[[], EngineFacts],
    taken: set[int],
    refused: Callable[[Plan], None] = lambda _: None,
    nearer: Callable[[str, ModelFacts], Iterable[ModelFacts]] = lambda _model, _facts: (),
) -> Draft:
    """Plan it; `refused` is shown a plan that does not fit.

    `nearer` may bring facts that are closer to what will be served (a download): each is planned anew, and the next is
    asked for only where the last one would start.

    Raises ToolMissing, NotFound, OperationFailed, SettingsError, DoesNotFit, ProblemsFound.
    """
    from fitserve.cli.plan_machine import own_figures
    from fitserve.facts.read import read_model
    from fitserve.facts.read_host import read_host
    from fitserve.plan.make import make_plan

    folder = model_folder(wishes.model)
    model = read_model(folder)
    engine = pick()
    port, notice = chosen_port(wishes.host, wishes.port, API_PORT, taken, "run.port_moved")
    request = plan_request(wishes, port)
    gpus, figures = _gpus(engine), own_figures()

    def weighed(facts: ModelFacts) -> Plan:
        plan = make_plan(request, facts, engine, read_host(), gpus, figures)
        if not plan.fits:
            refused(plan)
        refuse_bad(plan, wishes)
        return plan

    plan = weighed(model)
    for facts in nearer(folder, model):
        plan = weighed(facts)
    return Draft(plan, request, wishes, (notice,) if notice else ())


def refuse_bad(plan: Plan, wishes: Wishes) -> None:
    """Stop here what would not start. Raises DoesNotFit or ProblemsFound."""
    from fitserve.plan.make import failures

    hint = f"fitserve plan {wishes.model}"
    if not plan.fits:
        evidence = plan.reasons[-1] if plan.reasons else ""
        raise DoesNotFit(tr("run.does_not_fit", model=plan.model.name), evidence=evidence, hint=hint)
    if failed := failures(plan.checks):
        message = tr("run.check_failed", model=plan.model.name)
        raise ProblemsFound(message, evidence=failed[0].detail, hint=hint)


def frozen(draft: Draft, page_port: int | None, environ: Mapping[str, str] = os.environ) -> Deployment:
    """The deployment that the runner will read. `environ`: what the engine's own variables are added to."""
    from fitserve.engines.launch import launch
    from fitserve.plan.document import plan_document
    from fitserve.plan.make import served
    from fitserve.run.deployment import Deployment
    from fitserve.run.environment import engine_env

    plan, wishes = draft.plan, draft.wishes
    engine = plan.engine
    started = launch(plan.command, plan.env, engine)
    env = engine_env(environ, started.env)
    if draft.request.host not in LOOPBACK and (key := api_key(environ)):
        env["VLLM_API_KEY"] = key
    return Deployment(
        name=wishes.name,
        model=served(plan.model),
        served_model_name=plan.settings.served_model_name or plan.model.name,
        host=draft.request.host,
        port=draft.request.port,
        argv=started.argv,
        env=env,
        engine=f"{engine.name} {engine.version or '?'}",
        plan=plan_document(plan),
        page_port=page_port,
        demo=wishes.model == DEMO,
        wishes=wishes.table(),
    )


def picked(engine_python: str, offer: Callable[[ToolMissing], bool]) -> EngineFacts:
    """The engine to start with; where none is there, `offer` may install one. Raises ToolMissing."""
    from fitserve.engines.find import UNFINISHED, pick_engine

    python = Path(engine_python).expanduser() if engine_python else None
    try:
        return pick_engine(python, None)
    except ToolMissing as missing:
        if python is not None or missing.code == UNFINISHED or not offer(missing):
            raise
        return pick_engine(None, None)


def refuse_unlistenable(wishes: Wishes) -> None:
    """Refuse an address that this machine does not have, and one port for two servers. Raises SettingsError."""
    from fitserve.run.ports import why_not_here

    if why := why_not_here(wishes.host):
        hint = f"fitserve up {wishes.name} --host 127.0.0.1"
        raise SettingsError(tr("run.host_invalid", host=wishes.host), code="host_invalid", evidence=why, hint=hint)
    if wishes.page and wishes.port and wishes.port == wishes.page_port:
        hint = f"fitserve up {wishes.name} --port {wishes.port}"
        raise SettingsError(tr("run.same_port", port=wishes.port), code="same_port", hint=hint)


def chosen_port(
    host: str, asked: int | None, first: int, taken: set[int], moved: str, option: str = "--port"
) -> tuple[int, str]:
    """The port, and a notice where it is not the usual one. A port that was asked for is taken or refused."""
    from fitserve.run import ports
    from fitserve.run.view import look_at_all, port_holder

    port = asked or first
    if port not in taken and ports.is_free(host, port):
        return port, ""
    who = port_holder(port, look_at_all())
    free = ports.next_free(host, port + 1, taken)
    if asked is not None:
        hint = f"fitserve up … {option} {free}" if free else ""
        raise OperationFailed(tr("run.port_in_use", port=port), code="port_in_use", evidence=who, hint=hint)
    if free is None:
        raise OperationFailed(tr("run.no_port", port=port), code="port_in_use", evidence=who, hint="fitserve status")
    return free, tr(moved, asked=port, holder=tr("run.held_by", who=who) if who else "", port=free)


def refuse_open(host: str, environ: Mapping[str, str], insecure: bool) -> None:
    """A service that others can reach needs a key. Raises SettingsError."""
    if host in LOOPBACK or insecure or api_key(environ):
        return
    message = tr("run.public_without_key", host=host)
    raise SettingsError(message, code="public_without_key", hint=tr("run.public_key_hint", host=host))


def api_key(environ: Mapping[str, str]) -> str:
    """The key of a service that listens to more than this machine: the engine's own variable, or fitserve's."""
    return environ.get("VLLM_API_KEY", "") or environ.get("FITSERVE_API_KEY", "")


def plan_request(wishes: Wishes, port: int) -> PlanRequest:
    """What the plan is asked for."""
    from fitserve.cli.plan_options import request_from

    request = request_from(dict(wishes.values), wishes.passthrough)
    name = request.served_model_name or wishes.name
    return replace(request, host=wishes.host, port=port, served_model_name=name)


def _gpus(engine: EngineFacts) -> tuple[Gpu, ...] | None:
    """The cards for a GPU engine, None for a CPU engine. Raises ToolMissing where nobody can say."""
    if engine.device == "cpu":
        return None
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.read_gpus import read_gpus

    found = read_gpus()
    if isinstance(found, GpusUnknown):
        raise ToolMissing(found.reason, code="gpus_unknown", hint="fitserve inspect gpus")
    return found
