"""What `check` looks at: exactly what `up` would plan and start with, gathered without failing on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from fitserve.cli.up_plan import API_PORT, PAGE_PORT, plan_request
from fitserve.cli.up_target import Wishes, model_folder, read_wishes
from fitserve.errors import FitserveError, SettingsError
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.host import HostFacts
from fitserve.preflight.subject import PortWish, Subject

if TYPE_CHECKING:
    from fitserve.facts.engine import EngineFacts
    from fitserve.facts.hub_ref import HubRef
    from fitserve.facts.model import ModelFacts
    from fitserve.plan.plan import Plan
    from fitserve.run.view import View

_T = TypeVar("_T")
_NO_SUCH = ("not_found", "hub_not_found")  # what was typed names nothing


def gather(ctx: click.Context, model: str, name: str, *, quick: bool) -> Subject:
    """Raises SettingsError and NotFound for what was typed; what the machine lacks stands in the subject."""
    from fitserve.facts.read_gpus import read_gpus
    from fitserve.facts.read_host import read_host

    host, cards = read_host(), read_gpus()
    problems: dict[str, FitserveError] = {}
    wishes = _wishes(ctx, model, name)
    engine = _had(problems, "engine", lambda: _engine(wishes.engine_python if wishes else ""))
    if wishes is None:
        return Subject(host, cards, engine=engine, problems=problems, quick=quick, say=_say)
    view = _view(wishes.name)
    ours = _processes(view)
    subject = Subject(
        host, cards, wishes.name, wishes.model, engine=engine, ours=ours, quick=quick, say=_say, problems=problems
    )
    subject = replace(subject, ports=_ports(wishes, view), taken=_taken(view))
    facts = _had(problems, "model", lambda: _facts(wishes.model))
    plan = None
    if facts is not None and not facts.problems:
        plan = _had(problems, "plan", lambda: _plan(wishes, facts, engine, host, _without(cards, ours)))
    return replace(subject, ref=_ref(wishes.model), facts=facts, plan=plan)


def _wishes(ctx: click.Context, model: str, name: str) -> Wishes | None:
    """None where nothing was named and nothing is deployed: then the machine alone is looked at."""
    from fitserve.cli.config_file import known_deployments
    from fitserve.run.registry import names

    if not model and not name and not names() and not known_deployments():
        return None
    return read_wishes(ctx, model, name)


def _had(problems: dict[str, FitserveError], what: str, get: Callable[[], _T]) -> _T | None:
    try:
        return get()
    except FitserveError as error:
        if isinstance(error, SettingsError) or error.code in _NO_SUCH:
            raise
        problems[what] = error
        return None


def _engine(engine_python: str) -> EngineFacts:
    from fitserve.cli.up_plan import picked

    return picked(engine_python, lambda _: False)


def _facts(model: str) -> ModelFacts:
    from fitserve.facts.read import survey_model

    return survey_model(model_folder(model))


def _plan(
    wishes: Wishes, facts: ModelFacts, engine: EngineFacts | None, host: HostFacts, cards: tuple[Gpu, ...] | GpusUnknown
) -> Plan:
    """For the engine that is here, or the one that would be installed."""
    from fitserve.cli.plan_machine import assumed_engine, own_figures
    from fitserve.errors import ToolMissing
    from fitserve.plan.make import make_plan

    on_cpu = engine.device == "cpu" if engine else cards == ()
    if not on_cpu and isinstance(cards, GpusUnknown):
        raise ToolMissing(cards.reason, code="gpus_unknown", evidence=cards.evidence, hint="fitserve inspect gpus")
    seen = None if on_cpu or isinstance(cards, GpusUnknown) else cards
    request = plan_request(wishes, wishes.port or API_PORT)
    return make_plan(request, facts, engine or assumed_engine(seen), host, seen, own_figures())


def _ref(model: str) -> HubRef | None:
    from fitserve.cli.up_fetch import hub_ref

    return None if model == "demo" else hub_ref(model)


def _view(name: str) -> View | None:
    from fitserve.run.view import look

    try:
        return look(name)
    except ValueError:  # its file is broken: `up` writes it anew
        return None


def _processes(view: View | None) -> frozenset[int]:
    if view is None or view.live is None or not view.runs:
        return frozenset()
    return frozenset(member.pid for member in view.live.members)


def _without(cards: tuple[Gpu, ...] | GpusUnknown, ours: frozenset[int]) -> tuple[Gpu, ...] | GpusUnknown:
    """The cards as they will be once this deployment is down: a restart gets its memory back."""
    if isinstance(cards, GpusUnknown) or not ours:
        return cards
    return tuple(_freed(card, ours) for card in cards)


def _freed(card: Gpu, ours: frozenset[int]) -> Gpu:
    own = sum(process.used_bytes or 0 for process in card.processes if process.pid in ours)
    others = tuple(process for process in card.processes if process.pid not in ours)
    return replace(card, free_bytes=None if card.free_bytes is None else card.free_bytes + own, processes=others)


def _ports(wishes: Wishes, view: View | None) -> tuple[PortWish, ...]:
    runs = view is not None and view.runs
    port = view.deployment.port if view and runs else wishes.port or API_PORT
    found = [PortWish("port_api", wishes.host, port, wishes.port is not None, own=runs)]
    if wishes.page:
        page = view.deployment.page_port if view and view.page_runs else None
        number = page or wishes.page_port or PAGE_PORT
        found.append(PortWish("port_page", "127.0.0.1", number, wishes.page_port is not None, own=page is not None))
    return tuple(found)


def _taken(view: View | None) -> frozenset[int]:
    """Ports of the other deployments, which may not listen yet."""
    from fitserve.cli.up_start import taken_ports

    own = {view.deployment.port, view.deployment.page_port} if view else set()
    return frozenset(taken_ports() - own)


def _say(text: str) -> None:
    click.echo(text, err=True)
