"""The live state of a deployment: what its runner last said of itself, for everybody else to read.

It is written to two disks (state and runtime folder), so that a full or read-only one does not blind `status`;
the later of the two counts, by a number that every writing raises: a clock may be set back.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from fitserve.paths import runtime_dir
from fitserve.run.deployment import deployment_dir
from fitserve.run.files import write_whole
from fitserve.run.processes import Identity
from fitserve.stage import Stage


class State(StrEnum):
    """The states of `status --json`."""

    STOPPED = "stopped"
    STARTING = "starting"
    ANSWERING = "answering"
    HUNG = "hung"
    FAILED = "failed"


class Reason(StrEnum):
    """Why it is stopped or failed; the sentence is `run.reason_…`."""

    NONE = ""
    ASKED = "asked"
    ENGINE_MISSING = "engine_missing"
    ENGINE_DIED = "engine_died"
    PORT_IN_USE = "port_in_use"
    NO_ANSWER = "no_answer"
    WRONG_ANSWER = "wrong_answer"
    RUNNER_DIED = "runner_died"
    SUPERVISOR_DIED = "supervisor_died"
    HUNG = "hung"
    TOO_MANY = "too_many"


@dataclass(frozen=True)
class StageTime:
    """A stage and when it began, in seconds after the engine's start."""

    stage: Stage
    at_s: float


@dataclass(frozen=True)
class Evidence:
    """A line of the engine's log that shows why, and where it stands. `line` counts from 1; 0 is unknown."""

    text: str = ""
    line: int = 0


@dataclass(frozen=True)
class Live:
    """One moment in the life of a deployment."""

    name: str
    state: State
    serial: int = 0  # raised by every writing, from one runner to the next
    updated: float = 0.0  # wall clock
    since: float = 0.0  # wall clock: when this state began
    stages: tuple[StageTime, ...] = ()
    expected: tuple[StageTime, ...] = ()  # as earlier starts of the same plan went; empty where there were none
    runner: Identity | None = None
    engine: Identity | None = None
    members: tuple[Identity, ...] = ()  # the engine's processes when last looked at
    failures: int = 0  # in a row
    orphaned: int = 0  # deaths of the supervisor in a row, which are no failures of the service
    answered: bool = False  # it has answered since `up`
    reason: Reason = Reason.NONE
    detail: str = ""  # "exit 1", "signal 9", the port's holder: facts, not a sentence
    evidence: Evidence = Evidence()
    diagnosis: dict[str, object] = field(default_factory=dict)  # what the doctor says of its last end
    probe: dict[str, object] = field(default_factory=dict)  # the last question; `at` is its time by the wall clock
    probes: int = 0  # questions asked of this engine
    measured: dict[str, object] = field(default_factory=dict)
    held: tuple[dict[str, object], ...] = ()  # who holds GPU memory that did not come back (`run/holders.py`)
    problems: tuple[str, ...] = ()  # what could not be written: "engine.log: No space left on device"
    next_start: float = 0.0  # wall clock: end of the back-off
    record: str = ""  # the run record's file

    @property
    def stage(self) -> Stage | None:
        """Where the start stands."""
        return self.stages[-1].stage if self.stages else None

    @property
    def reason_key(self) -> str:
        """Of the sentence: an engine that ends while it answers was in no stage of a start."""
        serving = self.reason is Reason.ENGINE_DIED and self.stage is Stage.ANSWERING
        return f"run.reason_{self.reason}{'_answering' if serving else ''}"


def live_paths(name: str) -> tuple[Path, Path]:
    """Where the live state stands, twice."""
    return deployment_dir(name) / "live.json", runtime_dir() / f"{name}.live.json"


def write_live(live: Live, paths: Sequence[Path]) -> str:
    """Write it wherever that works. Returns what went wrong, "" when every disk took it."""
    content = json.dumps(asdict(live)).encode()
    problem = ""
    for path in paths:
        try:
            write_whole(path, content)
        except OSError as error:
            problem = f"{path.name}: {error.strerror}"
    return problem


def read_live(name: str) -> Live | None:
    """The later of the two copies; None where the deployment never ran."""
    found = [live for live in map(_read, live_paths(name)) if live]
    return max(found, key=lambda live: live.serial, default=None)


def rest_live(name: str) -> None:
    """Nothing runs any more: where the state folder has the last word, the runtime folder need not keep it too."""
    kept, passing = live_paths(name)
    if _read(kept) == read_live(name):
        with contextlib.suppress(OSError):
            passing.unlink(missing_ok=True)


def forget_live(name: str) -> None:
    """Forget the last life: the next start counts its failures from nothing."""
    for path in live_paths(name):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _read(path: Path) -> Live | None:
    try:
        return _live(_table(json.loads(path.read_bytes())))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _live(table: dict[str, object]) -> Live:
    values: dict[str, object] = {key: value for key, value in table.items() if key in Live.__dataclass_fields__}
    values |= {key: _identity(table.get(key)) for key in ("runner", "engine")}
    values["members"] = tuple(filter(None, map(_identity, _rows(table["members"]))))
    for key in ("stages", "expected"):
        values[key] = tuple(StageTime(Stage(row["stage"]), float(row["at_s"])) for row in _rows(table.get(key, [])))
    values["evidence"] = Evidence(**_table(table["evidence"]))
    values["problems"] = tuple(map(str, _list(table["problems"])))
    values["held"] = tuple(_rows(table.get("held", [])))
    values |= {"state": State(str(table["state"])), "reason": Reason(str(table["reason"]))}
    return Live(**values)  # type: ignore[arg-type]  # a broken table is refused by the caller, which reads it as absent


def _identity(value: object) -> Identity | None:
    return Identity(**_table(value)) if value else None


def _rows(value: object) -> list[dict[str, Any]]:
    return [_table(row) for row in _list(value)]


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value
