"""What was seen at one moment, cards, host and services together, as one JSON line; a file of them is a recording.

A line is an event as the run record has them (`"event": "sample"`), so that both can stand in one file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample
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
    services = [asdict(service) for service in moment.services]
    return {"at": sample.at, "event": EVENT, "cards": cards, "host": asdict(sample.host), "services": services}


@dataclass(frozen=True)
class _Row:
    """A line of a recording. Of other events none has `cards`."""

    at: float
    cards: tuple[CardSample, ...] | None
    host: HostSample = field(default_factory=HostSample)
    services: tuple[Service, ...] = ()


def read_moments(path: Path) -> Iterator[Moment]:
    """The moments of a recording, in order. Raises OSError."""
    with path.open("rb") as file:
        yield from parse_moments(file)


def parse_moments(lines: Iterable[bytes]) -> Iterator[Moment]:
    """Other events, broken lines and figures of a wrong kind are passed over."""
    import msgspec

    decoder = msgspec.json.Decoder(_Row)
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            row = decoder.decode(line)
            yield Moment(Sample(row.at, row.cards, row.host), row.services)


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
