"""What the runner needs of later stages, as small Protocols; `cli/internal_run.py` hands the real ones in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from fitserve.clock import Clock
from fitserve.run.deployment import Deployment
from fitserve.run.live import Live, StageTime
from fitserve.run.stall import Progress
from fitserve.stage import Stage


class Outcome(StrEnum):
    """What came of a question."""

    RIGHT = "right"  # the answer was judged, and it is right
    ANSWERED = "answered"  # an answer came and ended; nobody can judge it
    TEXT_ONLY = "text_only"  # the model takes no pictures; it answered in text
    WRONG = "wrong"
    FAILED = "failed"  # no answer: refused, cut, timed out


@dataclass(frozen=True)
class Probe:
    """A question put to the running model, and what came of it."""

    outcome: Outcome
    question: str
    answer: str
    seconds: float
    detail: str = ""  # why it failed: the engine's own words

    @property
    def proves(self) -> bool:
        """Whether the service can be called answering after this."""
        return self.outcome in {Outcome.RIGHT, Outcome.ANSWERED, Outcome.TEXT_ONLY}


@dataclass(frozen=True)
class Holder:
    """A process that holds GPU memory."""

    pid: int
    used_bytes: int | None


class Prober(Protocol):
    """Asks the running engine."""

    def healthy(self, deployment: Deployment, timeout_s: float) -> bool: ...
    def progress(self, deployment: Deployment, timeout_s: float) -> Progress | None: ...
    def ask(self, deployment: Deployment, attempt: int, *, brief: bool = False) -> Probe: ...


class Journal(Protocol):
    """The run record. `write` never raises; `problem` says why lines were lost ("" when none were)."""

    @property
    def problem(self) -> str: ...
    def write(self, event: str, **fields: object) -> None: ...


class LineReader(Protocol):
    """Reads the engine's log: a line may open a stage; figures gather on the way."""

    def feed(self, line: str) -> Stage | None: ...
    def figures(self) -> dict[str, object]: ...


class Meter(Protocol):
    """Measures an engine that answers: the ledger's items in bytes, and the KV cache as the engine reports it."""

    def measure(
        self, deployment: Deployment, pids: tuple[int, ...], figures: dict[str, object]
    ) -> dict[str, object]: ...


class GpuMemory(Protocol):
    """Bytes in use on each card, and who holds them. None where no driver can say."""

    def used_bytes(self) -> tuple[int, ...] | None: ...
    def holders(self) -> tuple[Holder, ...] | None: ...


class Samples(Protocol):
    """Keeps how cards, host and engine looked. `add` never raises and may take seconds; `problem` as the journal's."""

    @property
    def problem(self) -> str: ...
    def add(self, state: str, pids: Sequence[int]) -> None: ...


class PastStarts(Protocol):
    """How earlier starts of the same plan went."""

    def expected(self, deployment: Deployment) -> tuple[StageTime, ...]: ...


class Doctor(Protocol):
    """Names the cause of an end: `cause`, `stage`, `fix` and so on; empty where it has nothing to say."""

    def diagnose(self, deployment: Deployment, live: Live) -> dict[str, object]: ...


@dataclass(frozen=True)
class Edges:
    """Everything outside of the runner."""

    clock: Clock
    journal: Journal
    lines: LineReader
    prober: Prober
    meter: Meter
    gpu: GpuMemory
    past: PastStarts
    doctor: Doctor
    samples: Samples
