"""Who is asked: a deployment by its name, or any OpenAI endpoint by its address."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.run.deployment import Deployment

DEMO = "demo"


@dataclass(frozen=True)
class Target:
    """An endpoint and what is known of it. `name` is empty for a bare address."""

    endpoint: Endpoint
    name: str = ""
    is_demo: bool = False
    page_port: int | None = None


def find_target(target: str, backend_url: str, model: str = "") -> Target:
    """From what was typed. The key comes from FITSERVE_API_KEY. Raises SettingsError or NotFound."""
    from fitserve.chat.endpoint import Endpoint, parse_base_url

    key = os.environ.get("FITSERVE_API_KEY", "")
    if backend_url or _is_address(target):
        base_url = parse_base_url(backend_url or target)
        name = "" if _is_address(target) else target
        return Target(Endpoint(base_url, model, key), name, DEMO in (name, model))
    deployment = _deployment(target)
    key = key or deployment.env.get("VLLM_API_KEY", "")
    endpoint = Endpoint(deployment.url, model or deployment.served_model_name, key)
    return Target(endpoint, deployment.name, deployment.demo, deployment.page_port)


def _deployment(name: str) -> Deployment:
    """By name; without one, the only one there is."""
    from fitserve.errors import NotFound
    from fitserve.run.registry import load, names

    if not name:
        known = names()
        if len(known) != 1:
            raise NotFound(tr("chat.no_target"), evidence=", ".join(known), hint=tr("chat.no_target_next"))
        name = known[0]
    deployment = load(name)
    if deployment is None:
        raise NotFound(tr("chat.no_deployment", name=name), hint=tr("chat.no_deployment_next"))
    return deployment


def _is_address(text: str) -> bool:
    return "://" in text or text.startswith(("localhost:", "127.", "["))
