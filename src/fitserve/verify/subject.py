"""What is verified: an endpoint, and all that is known of it. Of somebody else's address little is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fitserve.chat.endpoint import Endpoint
from fitserve.facts.model import Vision
from fitserve.run.deployment import Deployment
from fitserve.run.live import Live


@dataclass(frozen=True)
class Used:
    """Memory in use: bytes a card, on a CPU one figure for all processes."""

    cards: tuple[int, ...]
    with_others: bool = False  # whole cards: the driver does not show whose it is (containers, WSL2)


@dataclass(frozen=True)
class Subject:
    """`deployment` is None for a bare address: what only this machine can tell is unknown then."""

    endpoint: Endpoint
    deployment: Deployment | None = None
    live: Live | None = None
    page_runs: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)  # supervisor's word for each program
    vision: Vision | None = None  # None: unknown, or no pictures
    demo: bool = False  # the answers can be judged
    on_cpu: bool | None = None
    memory: Callable[[], Used | None] = lambda: None  # None: can't be seen from here

    @property
    def plan(self) -> dict[str, Any]:
        """`plan --json` as it was at the start; empty where it is not known."""
        return self.deployment.plan if self.deployment else {}

    @property
    def settings(self) -> dict[str, Any]:
        """The plan's settings under vLLM's names."""
        found = self.plan.get("settings")
        return found if isinstance(found, dict) else {}

    @property
    def takes_pictures(self) -> bool | None:
        """What the plan says of pictures; None where it is not known."""
        model = self.plan.get("model")
        if not isinstance(model, dict) or "vision" not in model:
            return None
        return bool(model["vision"]) and not self.settings.get("language_model_only") and self.pictures_allowed != 0

    @property
    def pictures_allowed(self) -> int | None:
        """Pictures that one request may have; None where nobody set it."""
        limit = self.settings.get("limit_mm_per_prompt") or {}
        value = limit.get("image")
        count = value.get("count") if isinstance(value, dict) else value
        return count if isinstance(count, int) else None

    @property
    def largest_pixels(self) -> int | None:
        """Pixels of the largest picture that is not shrunk; None where it is not known."""
        asked = (self.settings.get("mm_processor_kwargs") or {}).get("max_pixels")
        if isinstance(asked, int):
            return asked
        return self.vision.max_pixels if self.vision else None
