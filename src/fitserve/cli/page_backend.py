"""What a page is to know of who answers: a deployment's plan tells its window and what a picture costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitserve.cli.target import Target

if TYPE_CHECKING:
    from fitserve.web.server import Backend


def backend_of(target: Target) -> Backend:
    """From a target; of a bare address nothing is known before it answers."""
    from fitserve.chat.room import Room, room_of_plan
    from fitserve.run.registry import load
    from fitserve.web.server import Backend

    deployment = load(target.name) if target.name else None
    room = room_of_plan(deployment.plan) if deployment else Room()
    return Backend(target.endpoint, deployment.name if deployment else "", target.is_demo, room)
