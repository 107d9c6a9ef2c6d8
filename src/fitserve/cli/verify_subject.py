"""What `verify` is about: a deployment with its plan, its processes and its cards, or a bare address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fitserve.cli.target import Target, answering_target, find_target
from fitserve.errors import FitserveError
from fitserve.verify.place import members
from fitserve.verify.subject import Subject, Used

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.facts.model import Vision
    from fitserve.run.deployment import Deployment


def of_deployment(name: str) -> Subject:
    """Raises NotFound, and OperationFailed where it does not answer."""
    from fitserve.run.supervisor import Supervisor
    from fitserve.run.view import look

    target = answering_target(name, "")
    view = look(target.name)
    assert view is not None
    subject = Subject(
        target.endpoint,
        view.deployment,
        view.live,
        view.page_runs,
        Supervisor().states(),
        _vision(view.deployment),
        target.is_demo,
        "cpu" in view.deployment.engine,
    )
    return _with_memory(subject)


def of_address(url: str, model: str) -> Subject:
    """Somebody's endpoint. Raises SettingsError for what is no address."""
    target: Target = find_target("", url, model)
    return Subject(target.endpoint, demo=target.is_demo)


async def with_model(endpoint: Endpoint) -> Endpoint:
    """The endpoint with the name of what it serves. Raises NoAnswer."""
    from fitserve.chat import models

    return await models.with_model(endpoint)


def _vision(deployment: Deployment) -> Vision | None:
    """The processor's limits, from the files that are served."""
    from fitserve.facts.read import survey_model

    try:
        return survey_model(deployment.model).vision
    except FitserveError:
        return None


def _with_memory(subject: Subject) -> Subject:
    from dataclasses import replace

    meter: Callable[[], Used | None] = (lambda: _processes(subject)) if subject.on_cpu else (lambda: _cards(subject))
    return replace(subject, memory=meter)


def _processes(subject: Subject) -> Used | None:
    """What all processes of the engine take of the host's memory."""
    from fitserve.run.processes import memory_bytes

    sizes = [memory_bytes(one.pid) for one in members(subject)]
    known = [size for size in sizes if size is not None]
    return Used((sum(known),)) if known and len(known) == len(sizes) else None


def _cards(subject: Subject) -> Used | None:
    """What they take on each card; where the driver hides that, what is in use there altogether."""
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.read_gpus import read_gpus

    cards = read_gpus()
    if isinstance(cards, GpusUnknown) or not cards:
        return None
    pids = {one.pid for one in members(subject)}
    ours = [[one.used_bytes for one in card.processes if one.pid in pids] for card in cards]
    if any(ours) and not any(size is None for sizes in ours for size in sizes):
        return Used(tuple(sum(size or 0 for size in sizes) for sizes in ours if sizes))
    whole = [card.total_bytes - card.free_bytes for card in cards if card.free_bytes is not None]
    return Used(tuple(whole), with_others=True) if len(whole) == len(cards) else None
