"""What happens to a runner, as values in one queue."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.run.edges import Probe
from fitserve.run.live import Reason
from fitserve.stage import Stage


@dataclass(frozen=True)
class StopAsked:
    """Somebody wants it to end: `down`, or the supervisor's death."""

    reason: Reason


@dataclass(frozen=True)
class Reached:
    """The log opened a stage."""

    stage: Stage


@dataclass(frozen=True)
class Gone:
    """The engine's leader ended: its exit code, or minus the signal's number."""

    code: int


@dataclass(frozen=True)
class PortLost:
    """Somebody else listens on the engine's port."""


@dataclass(frozen=True)
class Probed:
    """A question was asked."""

    probe: Probe
    last: bool  # no further attempt follows


@dataclass(frozen=True)
class Health:
    """The engine was looked at: does its door open, do its counters move, and where it was asked, did it answer?"""

    good: bool
    probe: Probe | None = None


Event = StopAsked | Reached | Gone | PortLost | Probed | Health
