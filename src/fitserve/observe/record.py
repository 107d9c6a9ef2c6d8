"""The run record: one file of JSON lines a run, only ever appended to, readable by `jq` and after any crash."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path

from fitserve.clock import Clock
from fitserve.run.deployment import records_dir

_KEPT = 50  # runs
_STAMP = "%Y%m%dT%H%M%S.%fZ"


class RunRecord:
    """Writes the record of one run. A line that can't be written is lost, told in `problem`, and stops nothing."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self.problem = ""
        self._clock = clock
        self._descriptor: int | None = None

    def write(self, event: str, **fields: object) -> None:
        """Append one event with its time, in a single write."""
        row = {"at": round(self._clock.now(), 3), "event": event, **fields}
        line = json.dumps(row, ensure_ascii=False, default=str) + "\n"
        try:
            self._append(line.encode())
            self.problem = ""
        except OSError as error:
            self.problem = f"{self.path.name}: {error.strerror}"
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _append(self, line: bytes) -> None:
        if self._descriptor is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, 0o600)
            line = self._mended() + line
        if os.write(self._descriptor, line) < len(line):
            raise OSError(28, os.strerror(28))  # the rest did not fit: the next opening mends the line's end

    def _mended(self) -> bytes:
        """A newline where an earlier writer died in the middle of a line."""
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        return b"" if size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n" else b"\n"


def new_record(name: str, clock: Clock) -> RunRecord:
    """A fresh record for a run of this deployment; the oldest beyond fifty go, the last one gets its end.

    Its name sorts behind all others, also when the clock was set back meanwhile.
    """
    folder = records_dir(name)
    close_record(name, clock)
    with contextlib.suppress(OSError):
        for old in sorted(folder.glob("*.jsonl"))[: -_KEPT + 1]:
            old.unlink()
    moment = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
    if before := latest_record(name):
        with contextlib.suppress(ValueError):
            last = datetime.datetime.strptime(before.name.rpartition("-")[0], _STAMP).replace(tzinfo=datetime.UTC)
            moment = max(moment, last + datetime.timedelta.resolution)
    return RunRecord(folder / f"{moment:{_STAMP}}-{os.getpid()}.jsonl", clock)


def close_record(name: str, clock: Clock) -> None:
    """End the record of a runner that was killed: half a line goes, for nobody can read it, and the end is told.

    Call it only while no runner of the deployment lives.
    """
    path = latest_record(name)
    if path is None:
        return
    with contextlib.suppress(OSError):
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        rows = list(read_record(path))
        if rows and rows[-1]["event"] != "ended":
            record = RunRecord(path, clock)
            record.write("ended", state="failed", reason="runner_died", detail="", evidence="", line=0, diagnosis={})
            record.close()


def read_record(path: Path) -> Iterator[dict[str, object]]:
    """The events of a record, in order. A line cut short by a crash is passed over. Raises OSError."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                row = json.loads(line)
                if isinstance(row, dict) and "event" in row:
                    yield row


def latest_record(name: str) -> Path | None:
    """The record of the last run; None where there was none."""
    return max(records_dir(name).glob("*.jsonl"), default=None)
