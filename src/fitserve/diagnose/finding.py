"""What the doctor says: findings with their evidence, and fixes with what they are predicted to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fitserve.plan.plan import Check
from fitserve.stage import Stage

UNKNOWN = "unknown"


class Severity(StrEnum):
    """`info` is a remark, `warn` costs speed or requests, `fatal` ended the start or the service."""

    INFO = "info"
    WARN = "warn"
    FATAL = "fatal"


class Confidence(StrEnum):
    """`high`: the engine said it or its traceback shows it; `medium`: inferred; `low`: one of several readings."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Evidence:
    """A line of the log, as the engine wrote it. `line` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True)
class Fix:
    """A change. `set` holds flags (None takes a flag away); `predicted` is None where it can't be computed.

    An empty change is an action that no flag expresses; `why` says it.
    """

    set: dict[str, object] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    why: str = ""
    predicted: dict[str, object] | None = None


@dataclass(frozen=True)
class Finding:
    """One cause. `cause` is one of the thirty labels, or "unknown"."""

    cause: str
    severity: Severity
    confidence: Confidence
    stage: Stage
    summary: str
    evidence: tuple[Evidence, ...]
    fixes: tuple[Fix, ...] = ()
    why: str = ""  # where this kind of the cause has a reason of its own

    @property
    def first_line(self) -> int:
        return self.evidence[0].line if self.evidence else 0


@dataclass(frozen=True)
class Diagnosis:
    """Everything that is said of one log. The first finding is the root cause."""

    stage: Stage | None
    engine_version: str | None
    figures: dict[str, object]
    findings: tuple[Finding, ...]
    settings: dict[str, object] = field(default_factory=dict)
    lines: int = 0
    starts: tuple[dict[str, object], ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()  # of a running service
    ledger: tuple[dict[str, object], ...] = ()  # measured beside planned, where the plan knows the model
