"""Kept measurements read back: the files of `bench` and `compare`, as values again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fitserve.errors import NotFound, OperationFailed
from fitserve.measure.bench import Spec
from fitserve.measure.figures import Figures
from fitserve.measure.sample import Sample
from fitserve.measure.server import ServerView
from fitserve.measure.statistics import Estimate
from fitserve.measure.tables import spec_from
from fitserve.measure.verdict import Verdict
from fitserve.measure.vllm_bench import Theirs
from fitserve.observe.record import read_record
from fitserve.text import tr

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """The figures of one load."""

    spec: Spec
    figures: Figures
    server: ServerView
    lag_seconds: float
    invalid: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unfinished: int = 0
    judged: int = 0
    right: int = 0
    memory_peak_bytes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class BenchRun:
    """One load of a bench. `result` is None where the bench died before its end."""

    number: int
    result: Result | None
    samples: tuple[Sample, ...] = ()
    memory: tuple[tuple[float, ...], ...] = ()  # seconds, then bytes of each card
    theirs: Theirs | None = None  # what `vllm bench serve` found with the same work


@dataclass(frozen=True)
class Start:
    """One start of one setting in a comparison. `failure` is why it did not answer."""

    setting: str
    number: int
    seconds: float | None
    result: Result | None
    deployment: Mapping[str, Any] = field(default_factory=dict)
    stage_memory: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class Comparison:
    """What `compare` found."""

    target: str
    settings: tuple[str, ...]
    figures: Mapping[str, Mapping[str, Estimate | None]]
    verdicts: tuple[Verdict, ...]
    answers: tuple[Mapping[str, Any], ...] = ()
    right: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """One file of measurements."""

    path: Path
    head: Mapping[str, Any]
    at: float
    runs: tuple[BenchRun, ...] = ()
    starts: tuple[Start, ...] = ()
    comparison: Comparison | None = None
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)  # of a comparison, by setting


def read_measured(path: Path) -> Measured:
    """A file that `bench` or `compare` kept. Raises NotFound, OperationFailed."""
    try:
        rows = list(read_record(path))
    except FileNotFoundError as error:
        raise NotFound(tr("report.no_file", path=path), hint=tr("report.no_file_next")) from error
    except OSError as error:
        raise OperationFailed(tr("report.unreadable", path=path), evidence=str(error.strerror)) from error
    head = next((row for row in rows if row["event"] in ("bench", "compare")), None)
    if head is None:
        raise OperationFailed(tr("report.not_ours", path=path), hint=tr("report.no_file_next"))
    try:
        return _bench(path, head, rows) if head["event"] == "bench" else _compare(path, head, rows)
    except (TypeError, KeyError, ValueError) as error:  # msgspec's ValidationError is a ValueError
        evidence = f"{type(error).__name__}: {error}"
        raise OperationFailed(tr("report.not_ours", path=path), evidence=evidence) from error


def _bench(path: Path, head: Mapping[str, Any], rows: list[dict[str, Any]]) -> Measured:
    numbers = sorted({row["run"] for row in rows if "run" in row})
    runs = tuple(_run(number, [row for row in rows if row.get("run") == number]) for number in numbers)
    return Measured(path, head, float(head["at"]), runs)


def _run(number: int, rows: list[dict[str, Any]]) -> BenchRun:
    results = [row for row in rows if row["event"] == "result"]
    memory = [row for row in rows if row["event"] == "memory"]
    theirs = [row for row in rows if row["event"] == "vllm_bench"]
    return BenchRun(
        number,
        result(results[-1]) if results else None,
        _samples(rows),
        tuple(tuple(row) for row in memory[-1]["rows"]) if memory else (),
        converted(theirs[-1]["figures"], Theirs) if theirs else None,
    )


def _compare(path: Path, head: Mapping[str, Any], rows: list[dict[str, Any]]) -> Measured:
    starts = tuple(_start(row) for row in rows if row["event"] == "round")
    verdicts = [row for row in rows if row["event"] == "verdict"]
    settings = tuple(head["plan"]["settings"])
    samples = {name: _samples(row for row in rows if row.get("setting") == name) for name in settings}
    comparison = _comparison(verdicts[-1]) if verdicts else None
    return Measured(path, head, float(head["at"]), starts=starts, comparison=comparison, samples=samples)


def _start(row: dict[str, Any]) -> Start:
    if row.get("result") is None:
        failure = row.get("failure") or {}
        return Start(row["setting"], row["round"], None, None, failure=str(failure.get("message") or "?"))
    return Start(
        row["setting"],
        row["round"],
        row["start_seconds"],
        result(row["result"]),
        row["deployment"],
        {name: tuple(cards) for name, cards in row["stage_memory_bytes"].items()},
    )


def _comparison(row: dict[str, Any]) -> Comparison:
    figures = {
        setting: {name: converted(value, Estimate) if value else None for name, value in table.items()}
        for setting, table in row["figures"].items()
    }
    verdicts = tuple(converted(one, Verdict) for one in row["verdicts"])
    return Comparison(
        row["target"], tuple(row["settings"]), figures, verdicts, tuple(row["answers"]), row.get("right", {})
    )


def result(row: dict[str, Any]) -> Result:
    """The figures of a load from their table. Raises ValueError, TypeError, KeyError."""
    peak = row["memory_peak_bytes"]
    return Result(
        spec_from(row["settings"]),
        converted(row["figures"], Figures),
        converted(row["server"], ServerView),
        row["lag_seconds"],
        tuple(row["invalid"]),
        tuple(row["notes"]),
        row["unfinished"],
        row["judged"],
        row["right"],
        tuple(peak) if peak else None,
    )


def converted(table: object, kind: type[T]) -> T:
    """JSON as one of our dataclasses; keys of a later version are passed over. Raises ValueError."""
    import msgspec

    return msgspec.convert(table, kind)


def _samples(rows: Iterable[dict[str, Any]]) -> tuple[Sample, ...]:
    return tuple(Sample.from_table(row) for row in rows if row["event"] == "sample" and row["part"] == "measured")
