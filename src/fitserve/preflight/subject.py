"""What a start would use, gathered once; what could not be had stands in `problems` with the failure that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fitserve.errors import FitserveError
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.host import HostFacts
from fitserve.facts.hub_ref import HubRef
from fitserve.facts.model import ModelFacts
from fitserve.plan.plan import Plan


@dataclass(frozen=True)
class PortWish:
    """A port of the start: the one that was asked for, or the first of those that would be taken."""

    name: str  # port_api, port_page
    host: str
    port: int
    asked: bool
    own: bool = False  # this very deployment has it now


@dataclass(frozen=True)
class Subject:
    """Everything that is looked at. Without a model it is the machine alone."""

    host: HostFacts
    cards: tuple[Gpu, ...] | GpusUnknown
    name: str = ""  # of the deployment
    model: str = ""  # as it was typed: what goes behind `fitserve plan`
    ref: HubRef | None = None  # where the model comes from, if from a hub
    facts: ModelFacts | None = None
    engine: EngineFacts | None = None
    plan: Plan | None = None
    problems: Mapping[str, FitserveError] = field(default_factory=dict)  # by "model", "engine", "plan"
    ours: frozenset[int] = frozenset()  # processes of this very deployment, where it runs
    ports: tuple[PortWish, ...] = ()
    taken: frozenset[int] = frozenset()  # ports of other deployments
    quick: bool = False  # no file is hashed, no engine is imported
    say: Callable[[str], None] = lambda _: None  # what takes long is told while it does

    @property
    def folder(self) -> Path | None:
        """Where the model's files are; None where they are not on this machine."""
        path = Path(self.facts.source).expanduser() if self.facts and self.facts.source else None
        return path if path and path.is_dir() else None
