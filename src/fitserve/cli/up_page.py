"""The chat page beside a deployment: whether it came up."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from fitserve.run.deployment import Deployment, deployment_dir
from fitserve.run.evidence import clean

if TYPE_CHECKING:
    from fitserve.run.control import Control

_WAIT_S = 90.0
_POLL_S = 0.2


def page_problem(deployment: Deployment, control: Control) -> str:
    """Wait until the page's door opens; "" when it did, else the last line of its log."""
    from fitserve.run.registry import PAGE_PREFIX
    from fitserve.run.supervisor import STOPPED_STATES

    deadline = control.clock.monotonic() + _WAIT_S
    while control.clock.monotonic() < deadline:
        if _opens(deployment.page_port or 0):
            return ""
        if control.supervisor.states().get(PAGE_PREFIX + deployment.name, "STOPPED") in STOPPED_STATES:
            break
        control.clock.sleep(_POLL_S)
    return _last_words(deployment.name) or "?"


def _opens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _last_words(name: str) -> str:
    path = deployment_dir(name) / "logs" / "page.log"
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return next((clean(line) for line in reversed(lines) if line.strip()), "")
