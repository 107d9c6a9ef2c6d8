"""The plan: settings, the ledger that says why they fit, reasons, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fitserve.facts.engine import EngineFacts
from fitserve.facts.model import ModelFacts
from fitserve.plan.settings import Settings

SCHEMA_VERSION = 1


class Basis(StrEnum):
    """How well a ledger row is known."""

    EXACT = "exact"
    CALIBRATED = "calibrated"
    BOUND = "bound"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """`fits` holds at the high end of every interval, `tight` only at the low end."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"


class CheckState(StrEnum):
    """A check that could not run is `unknown`, never `ok`."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LedgerRow:
    """Bytes of one rank for one item, as an interval. None where the basis is unknown."""

    item: str
    low: int | None
    expected: int | None
    high: int | None
    basis: Basis
    note: str = ""
    transient: bool = False  # can kill a start, but is given back


@dataclass(frozen=True)
class KvPlan:
    """The KV cache as vLLM will size and print it."""

    block_tokens: int
    bytes_per_block: int
    blocks: int
    blocks_per_request: int
    tokens: int
    concurrency: float


@dataclass(frozen=True)
class Refused:
    """An alternative that was weighed and refused, with the reason in the reader's language."""

    settings: dict[str, object]
    why: str
    fits: bool = False  # it would run too: weighed and not taken


@dataclass(frozen=True)
class Change:
    """One thing that differs in a corrected command: as it was typed, as it is now ("" for nothing), and why."""

    before: str
    after: str
    why: str


@dataclass(frozen=True)
class Correction:
    """Somebody's command put right: a whole one in the form that was typed, with what was changed."""

    plan: Plan
    command: tuple[str, ...]  # argv as typed up to the flags (`uv run vllm serve MODEL`)
    env: dict[str, str]  # what stands in front of it
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Check:
    """One named check of a plan, of the machine, or of a running service."""

    name: str
    state: CheckState
    detail: str
    evidence: str = ""  # the line or value that proves it, never translated
    hint: str = ""  # the next command to type


@dataclass(frozen=True)
class Plan:
    """What is to run, and why it fits. `kv` is None where the architecture's cache is not known."""

    verdict: Verdict
    model: ModelFacts
    engine: EngineFacts
    settings: Settings
    command: tuple[str, ...]  # argv with "python" in front; the engine puts its interpreter there
    env: dict[str, str]
    budget_bytes: int  # what one rank may use
    ledger: tuple[LedgerRow, ...]
    kv: KvPlan | None
    reasons: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    options: tuple[Refused, ...] = ()  # what fits as well, and has more of something: a person's choice
    nearest: tuple[Refused, ...] = ()  # what would run with something else than was asked; never taken unasked
    checks: tuple[Check, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    corrected: Correction | None = None  # of a command that was reviewed, where one is better

    @property
    def fits(self) -> bool:
        """True for `fits` and `tight` alike."""
        return self.verdict is not Verdict.DOES_NOT_FIT
