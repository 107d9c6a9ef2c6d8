"""What was seen at one moment, cards, host and services together, as one JSON line; a file of them is a recording.

A line is an event as the run record has them (`"event": "sample"`), so that both can stand in one file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample, ProcessSample
from fitserve.observe.metrics import Metrics

EVENT = "sample"


@dataclass(frozen=True)
class Service:
    """A deployment or an address. `state` as in `status`, or `unreachable`; `metrics` is None where it tells none."""

    name: str
    url: str
    state: str
    metrics: Metrics | None = None
    detail: str = ""  # why it does not answer
    pids: tuple[int, ...] = ()  # its engine's processes on this machine
    cards: tuple[int, ...] | None = None  # that it was given; None where that is not known
    planned: Mapping[str, int] = field(default_factory=dict)  # the ledger's lasting rows: expected bytes of one rank
    measured: Mapping[str, int] = field(default_factory=dict)  # of the same, what the engine told when it answered


@dataclass(frozen=True)
class Moment:
    """Everything that was looked at."""

    sample: Sample
    services: tuple[Service, ...] = ()

    @property
    def at(self) -> float:
        """Seconds of the wall clock."""
        return self.sample.at


def to_row(moment: Moment) -> dict[str, object]:
    """The moment as a JSON object."""
    sample = moment.sample
    cards = None if sample.cards is None else [asdict(card) for card in sample.cards]
    services = [_service_row(service) for service in moment.services]
    return {"at": sample.at, "event": EVENT, "cards": cards, "host": asdict(sample.host), "services": services}


def _service_row(service: Service) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(service, name) for name in Service.__dataclass_fields__}
    if service.metrics is None:
        return row
    histograms = {  # JSON has no infinity: the last bucket has no edge
        name: [[None if math.isinf(edge) else edge, count] for edge, count in buckets]
        for name, buckets in service.metrics.histograms.items()
    }
    metrics = {"values": service.metrics.values, "histograms": histograms, "cache": service.metrics.cache}
    return row | {"metrics": metrics}


def from_row(row: dict[str, Any]) -> Moment | None:
    """The moment of an event; None where it is another event or not whole."""
    try:
        cards = row["cards"]
        found = None if cards is None else tuple(_card(card) for card in cards)
        host = row.get("host") or {}
        processes = tuple(ProcessSample(**process) for process in host.get("processes", ()))
        machine = HostSample(host.get("total_bytes"), host.get("available_bytes"), processes)
        services = tuple(_service(service) for service in row.get("services", ()))
        return Moment(Sample(float(row["at"]), found, machine), services)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _card(row: dict[str, Any]) -> CardSample:
    processes, reasons = row.get("processes"), row.get("slow_reasons")
    known = {key: value for key, value in row.items() if key in CardSample.__dataclass_fields__}
    known["processes"] = None if processes is None else tuple(GpuProcess(**process) for process in processes)
    known["slow_reasons"] = None if reasons is None else tuple(reasons)
    return CardSample(**known)


def _service(row: dict[str, Any]) -> Service:
    known = {key: value for key, value in row.items() if key in Service.__dataclass_fields__}
    known["metrics"] = _metrics(row.get("metrics"))
    known["pids"] = tuple(row.get("pids", ()))
    known["cards"] = None if row.get("cards") is None else tuple(row["cards"])
    return Service(**known)


def _metrics(told: dict[str, Any] | None) -> Metrics | None:
    if told is None:
        return None
    histograms = {
        name: tuple((math.inf if edge is None else float(edge), float(count)) for edge, count in buckets)
        for name, buckets in told["histograms"].items()
    }
    return Metrics(told["values"], histograms, told.get("cache", {}))


def read_moments(path: Path) -> Iterator[Moment]:
    """The moments of a recording, in order; other events and broken lines are passed over. Raises OSError."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                row = json.loads(line)
                moment = from_row(row) if isinstance(row, dict) else None
                if moment is not None:
                    yield moment


class RecordedSampler:
    """The twin of `NvmlSampler`: gives the samples of a recording one by one."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._moments = iter(list(read_moments(path)))

    def sample(self, pids: Sequence[int] = ()) -> Sample | None:  # noqa: ARG002 - recorded with its own
        """As `Sampler`."""
        moment = next(self._moments, None)
        return moment.sample if moment else None


class SampleLog:
    """A file of moments that stays below a size for ever: when it is full, every second line of it goes.

    So it always reaches back to its beginning, the older the sparser. A disk that does not take it is told in
    `problem` and stops nothing.
    """

    def __init__(self, path: Path, limit_bytes: int = 8 * 1024 * 1024) -> None:
        self.path, self.problem = path, ""
        self._limit = limit_bytes

    def add(self, moment: Moment) -> None:
        """Append one moment."""
        line = json.dumps(to_row(moment), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            if self._write(line) > self._limit:
                self._thin()
            self.problem = ""
        except OSError as error:
            self.problem = f"{self.path.name}: {error.strerror}"

    def _write(self, line: bytes) -> int:
        """Append it in one write; the file's size."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":  # an earlier writer died in the middle of a line
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                raise OSError(28, os.strerror(28))
            return size + len(line)
        finally:
            os.close(descriptor)

    def _thin(self) -> None:
        thinner = self.path.with_suffix(".thinner")
        with self.path.open("rb") as old, thinner.open("wb") as new:
            thinner.chmod(0o600)
            new.writelines(line for number, line in enumerate(old) if number % 2 == 0)
        thinner.replace(self.path)
