"""The download before a start, as it is watched: one line that moves on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.clock import Clock, SystemClock
from fitserve.text import tr
from fitserve.units import format_bytes

if TYPE_CHECKING:
    from fitserve.facts.hub_ref import HubRef
    from fitserve.facts.model import ModelFacts

_LINE_EVERY_S = 10.0  # without a terminal
_MOVE_EVERY_S = 0.2
_SPEED_OVER_S = 15.0


def hub_ref(model: str) -> HubRef | None:
    """Where a model that is no folder comes from: its id, or a known model's."""
    from fitserve.facts.hub_ref import parse_ref
    from fitserve.facts.known_models import hub_of

    if Path(model).expanduser().is_dir():
        return None
    return parse_ref(model) or parse_ref(hub_of(model) or "")


def nearer(model: str, facts: ModelFacts) -> Iterator[ModelFacts]:
    """Facts ever closer to what will be served, for a plan each: a known model's as its hub has them, then those of the
    local copy. The weights are fetched when the last is asked for. Nothing for a folder. Raises what `download` raises.
    """
    from fitserve.facts.read import read_model
    from fitserve.fetch.download import download

    ref = hub_ref(model)
    if ref is None:
        return
    if facts.source == "known":
        facts = read_model(named(ref))
        yield facts
    with closing(FetchLines(str(ref))) as lines:
        folder = download(ref, lines)
    if str(folder) != facts.source:
        yield replace(read_model(folder), name=ref.id)


def named(ref: HubRef) -> str:
    """The reference as it is read back, whatever VLLM_USE_MODELSCOPE says."""
    from fitserve.facts.hub_ref import Hub

    return f"hf:{ref}" if ref.hub is Hub.HUGGING_FACE else str(ref)


class FetchLines:
    """Bytes, speed and time left, on stderr."""

    def __init__(self, model: str, clock: Clock | None = None, moving: bool | None = None) -> None:
        self.model, self.clock = model, clock or SystemClock()
        self.moving = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" if moving is None else moving
        self.total = 0
        self.began = self.said = self.clock.monotonic()
        self.seen: deque[tuple[float, int]] = deque()
        self.open = False  # a line that moves has no end yet

    def close(self) -> None:
        """End a line that moves."""
        if self.open:
            click.echo(err=True)
        self.open = False

    def begin(self, folder: Path, files: int, total_bytes: int, here_bytes: int) -> None:
        """What is to come, and where it goes."""
        self.total = total_bytes
        self.began = self.said = self.clock.monotonic()
        self.seen.append((self.began, here_bytes))
        key = "fetch.begins" if here_bytes else "fetch.begins_anew"
        size = {"total": format_bytes(total_bytes), "here": format_bytes(here_bytes)}
        click.echo(tr(key, model=self.model, files=files, folder=folder, **size), err=True)

    def moved(self, here_bytes: int, files_left: int) -> None:
        """So much of it is here."""
        now = self.clock.monotonic()
        if not files_left:
            return self._finish(now)
        if now - self.said < (_MOVE_EVERY_S if self.moving else _LINE_EVERY_S):
            return None
        self.said = now
        self.seen.append((now, here_bytes))
        while len(self.seen) > 2 and now - self.seen[0][0] > _SPEED_OVER_S:
            self.seen.popleft()
        line = self._line(here_bytes)
        click.echo(f"\r\x1b[K{line}" if self.moving else line, nl=not self.moving, err=True, color=self.moving)
        self.open = self.moving
        return None

    def note(self, text: str) -> None:
        """A sentence on a line of its own."""
        click.echo(f"\r\x1b[K{text}" if self.open else text, err=True, color=self.open)
        self.open = False

    def _line(self, here_bytes: int) -> str:
        (first, had), (last, has) = self.seen[0], self.seen[-1]
        size = {"here": format_bytes(here_bytes), "total": format_bytes(self.total)}
        percent = 100 * here_bytes // self.total if self.total else 100
        speed = (has - had) / (last - first) if last > first else 0.0
        if speed <= 0:
            return tr("fetch.moved_unknown", percent=percent, **size)
        left = tr("fetch.left", time=duration((self.total - here_bytes) / speed))
        return tr("fetch.moved", percent=percent, speed=format_bytes(int(speed)), left=left, **size)

    def _finish(self, now: float) -> None:
        took = duration(now - self.began)
        self.note(tr("fetch.done", model=self.model, total=format_bytes(self.total), time=took))


def duration(seconds: float) -> str:
    """`8 s`, `3:07`, `1:02:09`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
