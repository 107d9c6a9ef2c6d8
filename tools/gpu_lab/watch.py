"""What the cards said while a case ran: a recording that `fitserve watch --replay` plays, and short peaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import client

from fitserve.observe.gpu_memory import NvmlMemory
from fitserve.observe.gpu_samples import NvmlSampler
from fitserve.observe.metrics import read_metrics
from fitserve.observe.moments import Moment, Service, to_row

_EVERY_S, _PEAK_EVERY_S = 0.5, 0.02
_METRICS_EACH, _METRICS_S = 4, 1.0  # every fourth look; none may hold the others up for long


class Recorder(threading.Thread):
    """Writes a moment twice a second until it is ended; each row holds how long the engine's log was, for the stage."""

    def __init__(self, path: Path, log: Path, gpus: Sequence[int], name: str, url: str) -> None:
        super().__init__(name="recorder", daemon=True)
        self._file, self._log, self._gpus = path.open("w", encoding="utf-8"), log, gpus
        self._case, self._url, self._served = name, url, False
        self._sampler, self._ended = NvmlSampler(), threading.Event()

    def run(self) -> None:
        """Until `end`."""
        looks = 0
        while not self._ended.is_set():
            services = (self._service(),) if looks % _METRICS_EACH == 0 else ()
            looks += 1
            found = self._sampler.sample()
            cards = None if found.cards is None else tuple(card for card in found.cards if card.index in self._gpus)
            named = None if cards is None else tuple(replace(card, uuid="") for card in cards)
            row = to_row(Moment(replace(found, cards=named), services))
            length = self._log.stat().st_size if self._log.exists() else 0
            self._file.write(json.dumps({**row, "log_bytes": length}, separators=(",", ":")) + "\n")
            self._file.flush()
            self._ended.wait(_EVERY_S)

    def _service(self) -> Service:
        """The engine by its metrics, which it tells from the moment on that it serves."""
        told = read_metrics(client.metrics(self._url, _METRICS_S))
        self._served = self._served or told is not None
        state = "answering" if told else "unreachable" if self._served else "starting"
        return Service(self._case, self._url, state, told, cards=tuple(self._gpus))

    def end(self) -> None:
        """Stop and close the file."""
        self._ended.set()
        self.join(5)
        self._file.close()


class Memory:
    """Bytes in use on the case's cards; empty where no driver answers."""

    def __init__(self, gpus: Sequence[int]) -> None:
        self._nvml, self._gpus = NvmlMemory(), gpus

    def used(self) -> list[int]:
        """At this moment."""
        found = self._nvml.used_bytes()
        return [] if found is None else [found[index] for index in self._gpus]

    def used_bytes(self) -> tuple[int, ...] | None:
        """As `bench` asks it."""
        return tuple(self.used()) or None


class Peak(threading.Thread):
    """The most in use on each card between two moments, looked at every 20 ms."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(name="peak", daemon=True)
        self._memory, self._ended, self._most = memory, threading.Event(), memory.used()

    def run(self) -> None:
        """Until `end`."""
        while not self._ended.wait(_PEAK_EVERY_S):
            self._most = [max(pair) for pair in zip(self._most, self._memory.used(), strict=True)]

    def end(self) -> list[int]:
        """Stop, and the peak of each card."""
        self._ended.set()
        self.join(5)
        return self._most
