"""Who is asked: a deployment by its name, or any OpenAI endpoint by its address."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.chat.room import Room
    from fitserve.run.deployment import Deployment

DEMO = "demo"


@dataclass(frozen=True)
class Target:
    """An endpoint and what is known of it. `name` is empty for a bare address."""

    endpoint: Endpoint
    name: str = ""
    is_demo: bool = False
    page_port: int | None = None
    room: Room | None = None  # as its plan tells it; None where nobody planned it


def find_target(target: str, backend_url: str, model: str = "") -> Target:
    """From what was typed. The key comes from FITSERVE_API_KEY. Raises SettingsError or NotFound."""
    from fitserve.chat.endpoint import Endpoint, parse_base_url
    from fitserve.chat.room import room_of_plan
    from fitserve.cli.named import loaded

    key = os.environ.get("FITSERVE_API_KEY", "")
    if backend_url or _is_address(target):
        base_url = parse_base_url(backend_url or target)
        name = "" if _is_address(target) else target
        known = loaded(name) if name else None  # another way to a deployment: what its plan says still holds
        room = room_of_plan(known.plan) if known else None
        return Target(Endpoint(base_url, model, key), name, DEMO in (name, model), room=room)
    deployment = _deployment(target)
    key = key or deployment.env.get("VLLM_API_KEY", "")
    endpoint = Endpoint(deployment.url, model or deployment.served_model_name, key)
    return Target(endpoint, deployment.name, deployment.demo, deployment.page_port, room_of_plan(deployment.plan))


def answering_target(target: str, backend_url: str, model: str = "") -> Target:
    """As `find_target`; a deployment is one that answers, on a port that it has for itself. Raises OperationFailed.

    Its port may long be somebody else's: neither a question nor the key may go there.
    """
    found = find_target(target, backend_url, model)
    if not backend_url and not _is_address(target):
        _refuse_silent(found.name)
    return found


def _refuse_silent(name: str) -> None:
    from fitserve.cli.up_wait import evidence_text, reason_text
    from fitserve.errors import OperationFailed
    from fitserve.run import ports
    from fitserve.run.deployment import deployment_dir
    from fitserve.run.live import State
    from fitserve.run.sweep import engine_members
    from fitserve.run.view import look

    view = look(name)
    if view is None or view.live is None or view.state is not State.ANSWERING:
        live = view.live if view else None
        state = view.state if view else State.STOPPED
        ended = live is not None and state in (State.STOPPED, State.FAILED)
        evidence = (evidence_text(live) or (reason_text(live) if live.reason else "")) if live and ended else ""
        hint = f"fitserve doctor {name}" if state is State.HUNG else f"fitserve up {name}"
        message = tr("chat.not_answering", name=name, state=tr(f"run.state_{state}"))
        raise OperationFailed(message, code="not_answering", evidence=evidence, hint=hint)
    live, host, port = view.live, view.deployment.host, view.deployment.port
    members = engine_members(str(deployment_dir(name)), live.engine, live.members)
    if ports.listens_alone(host, port, [member.pid for member in members]) is False:
        evidence = ports.holder(port, [member.pid for member in members])
        message = tr("chat.port_foreign", name=name, port=port)
        raise OperationFailed(message, code="port_foreign", evidence=evidence, hint=f"fitserve restart {name}")


def _deployment(name: str) -> Deployment:
    """By name; without one, the only one there is."""
    from fitserve.cli.named import loaded
    from fitserve.errors import NotFound
    from fitserve.run.registry import names

    if not name:
        known = names()
        if len(known) != 1:
            raise NotFound(tr("chat.no_target"), evidence=", ".join(known), hint=tr("chat.no_target_next"))
        name = known[0]
    deployment = loaded(name)
    if deployment is None:
        raise NotFound(tr("chat.no_deployment", name=name), hint=tr("chat.no_deployment_next"))
    return deployment


def _is_address(text: str) -> bool:
    return "://" in text or text.startswith(("localhost:", "127.", "["))
