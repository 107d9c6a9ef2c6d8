"""Commands run one by one, each with a guard, and written down the moment that each ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fitserve.observe.gpu_memory import NvmlMemory

_KEPT_CHARS = 60_000
_LOOK_S = 0.1


class Desk:
    """Rows of one lane, appended to `OUT/LANE.jsonl`. `until` is wall clock: what would begin later is not begun."""

    def __init__(self, out: Path, lane: str, until: float) -> None:
        self._file = (out / f"{lane}.jsonl").open("a", encoding="utf-8")
        self.until, self.nvml = until, NvmlMemory()

    def used(self) -> list[int] | None:
        """Bytes in use on each card; None where no driver says."""
        found = self.nvml.used_bytes()
        return None if found is None else list(found)

    def write(self, **row: object) -> None:
        """One row more."""
        self._file.write(json.dumps({"at": round(time.time(), 2), **row}, default=str) + "\n")
        self._file.flush()

    def left(self, limit_s: float) -> float:
        """Seconds that something may take."""
        return min(limit_s, self.until - time.time())

    def run(self, step: str, argv: Sequence[str], limit_s: float, env: dict[str, str] | None = None) -> str:
        """Run a command to its end or its guard; what it printed."""
        limit_s = self.left(limit_s)
        if limit_s < 2:
            self.write(step=step, not_run="no time was left")
            return ""
        began, before = time.monotonic(), self.used()
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        out, err, cut = _ended(process, limit_s)
        row: dict[str, Any] = {"argv": list(argv), "code": process.returncode, "guard": cut}
        row |= {"seconds": round(time.monotonic() - began, 2), "before_bytes": before, "after_bytes": self.used()}
        self.write(step=step, **row, out=out[-_KEPT_CHARS:], err=err[-_KEPT_CHARS:])
        print(f"{step}: exit {process.returncode} after {row['seconds']} s", flush=True)
        return out


def _ended(process: subprocess.Popen[str], limit_s: float) -> tuple[str, str, bool]:
    """What it wrote, and whether the guard ended it: asked first, as Ctrl-C would."""
    for sign, patience_s in ((None, limit_s), (signal.SIGINT, 15), (signal.SIGKILL, 5)):
        if sign is not None:
            os.killpg(process.pid, sign)
        try:
            out, err = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            continue
        return out, err, sign is not None
    return "", "", True  # a child of it keeps the pipes open


class Usage(threading.Thread):
    """Who uses how much of the cards, ten looks a second, a row where something changed: `OUT/LANE.usage.jsonl`."""

    def __init__(self, out: Path, lane: str) -> None:
        super().__init__(name="usage", daemon=True)
        self._file, self._nvml = (out / f"{lane}.usage.jsonl").open("a", encoding="utf-8"), NvmlMemory()

    def run(self) -> None:
        """For ever."""
        before: object = None
        while True:
            holders = self._nvml.holders()
            by = None if holders is None else {holder.pid: holder.used_bytes for holder in holders}
            now = {"used": self._nvml.used_bytes(), "by": by}
            if now != before:
                self._file.write(json.dumps({"at": round(time.time(), 2), **now}) + "\n")
                self._file.flush()
            before = now
            time.sleep(_LOOK_S)
