"""The line that the engine writes every ten seconds, summed up: throughput, queue, KV usage, preemptions."""

from __future__ import annotations

import re
from dataclasses import dataclass

FULL = 95.0  # percent of the KV cache from which on requests wait or are preempted


@dataclass
class Periodic:
    """Sums over the periodic lines of one start. Percentages are 0 to 100, throughput is tokens/s."""

    lines: int = 0
    first_line: int = 0
    last_line: int = 0
    peak_usage: float = 0.0
    peak_running: int = 0
    peak_waiting: int = 0
    peak_generation: float = 0.0
    lowest_busy: float | None = None  # generation while requests ran
    single_peak: float = 0.0  # generation while exactly one request ran
    preemptions: int = 0
    full_and_waiting: int = 0  # lines with the cache full and requests waiting
    full_line: int = 0
    stalled: int = 0  # lines in a row, up to the last one, with requests running and no token
    hit_rate: float | None = None

    def feed(self, number: int, text: str) -> None:
        """Read one periodic line (raw or parsed)."""
        values = _values(text)
        self.lines += 1
        self.first_line = self.first_line or number
        self.last_line = number
        running = int(values.get("Running", 0))
        waiting = int(values.get("Waiting", values.get("Pending", 0)))
        usage = values.get("cache usage", 0.0)
        self._load(number, running, waiting, usage)
        self._speed(running, values)
        self.preemptions = max(self.preemptions, int(values.get("Preemptions", 0)))

    def _load(self, number: int, running: int, waiting: int, usage: float) -> None:
        self.peak_usage = max(self.peak_usage, usage)
        self.peak_running = max(self.peak_running, running)
        self.peak_waiting = max(self.peak_waiting, waiting)
        if usage >= FULL and waiting:
            self.full_and_waiting += 1
            self.full_line = number

    def _speed(self, running: int, values: dict[str, float]) -> None:
        generation = values.get("generation throughput", 0.0)
        prompt = values.get("prompt throughput", 0.0)
        self.peak_generation = max(self.peak_generation, generation)
        self.stalled = self.stalled + 1 if running and not generation and not prompt else 0
        if running and generation:
            self.lowest_busy = generation if self.lowest_busy is None else min(self.lowest_busy, generation)
        if running == 1:
            self.single_peak = max(self.single_peak, generation)
        if "hit rate" in values:
            self.hit_rate = values["hit rate"]


_NAMES = {
    "Avg prompt throughput": "prompt throughput",
    "Avg generation throughput": "generation throughput",
    "Running": "Running",
    "Waiting": "Waiting",
    "Pending": "Pending",
    "Preemptions": "Preemptions",
    "GPU KV cache usage": "cache usage",
    "CPU KV cache usage": "cpu cache usage",
    "Prefix cache hit rate": "hit rate",
}


_SHORT = ("prompt throughput", "generation throughput", "Running", "Waiting", "cache usage", "hit rate")
_USUAL = re.compile(
    r"Avg prompt throughput: (\d{1,9}\.\d) tokens/s, Avg generation throughput: (\d{1,9}\.\d) tokens/s, "
    r"Running: (\d{1,9}) reqs, Waiting: (\d{1,9}) reqs, GPU KV cache usage: (\d{1,3}\.\d)%, "
    r"Prefix cache hit rate: (\d{1,3}\.\d)%(?:\s{0,2}$|\")"
)


def _values(text: str) -> dict[str, float]:
    """The numbers of the line by the short form of their names; the usual line is taken apart at once."""
    usual = _USUAL.search(text)
    return dict(zip(_SHORT, map(float, usual.groups()), strict=True)) if usual else _by_name(text)


def _by_name(text: str) -> dict[str, float]:
    """The same for a line of any version, name by name."""
    out: dict[str, float] = {}
    for part in text.split(", "):
        head, _, value = part.rpartition(": ")
        name = _NAMES.get(head) or _NAMES.get(head.rpartition(": ")[2])
        if name:
            try:
                out[name] = float(value.partition(" ")[0].rstrip("%.\r"))
            except ValueError:
                continue
    if "cache usage" not in out and "cpu cache usage" in out:
        out["cache usage"] = out["cpu cache usage"]
    return out
