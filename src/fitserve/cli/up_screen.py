"""A start as it is watched: stages with their times, live on a terminal, a line each elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import click

from fitserve.text import tr

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fitserve.run.live import Live


class Screen(Protocol):
    """Where progress is shown."""

    def note(self, text: str) -> None: ...
    def show(self, live: Live) -> None: ...


class Lines:
    """One line a stage, as it begins."""

    def __init__(self) -> None:
        self._shown = 0

    def note(self, text: str) -> None:
        """A line of its own."""
        click.echo(text, err=True)

    def show(self, live: Live) -> None:
        """The stages that are new."""
        if len(live.stages) < self._shown:
            self._shown = 0  # the runner has started again
        for moment in live.stages[self._shown :]:
            line = tr("run.stage_line", at=f"{moment.at_s:7.1f}", stage=stage_text(moment.stage))
            click.echo(f"{line}{left_text(live) if moment is live.stages[-1] else ''}", err=True)
        self._shown = len(live.stages)


class Moving:
    """The stages as a list that grows; the last one has a clock that runs."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = Console(stderr=True, highlight=False, markup=False)
        self._live: Live | None = None
        self._moves = False  # it starts to move with the first stage: a question may have to be asked before
        self._seen_at = 0.0  # when the last stage was first shown
        self._screen = RichLive(
            get_renderable=self._table, console=self._console, refresh_per_second=8, transient=False
        )

    def note(self, text: str) -> None:
        """A line above the list."""
        self._console.print(text)

    def show(self, live: Live) -> None:
        """Take in a new moment."""
        if self._live is None or len(live.stages) != len(self._live.stages):
            self._seen_at = time.monotonic()
        self._live = live
        if not self._moves:
            self._moves = True
            self._screen.start()

    def __enter__(self) -> Moving:
        return self

    def __exit__(self, *_: object) -> None:
        if self._moves:
            self._screen.stop()

    def _table(self) -> RenderableType:
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        stages = self._live.stages if self._live else ()
        for number, moment in enumerate(stages):
            last = number + 1 == len(stages)
            running = last and self._live is not None and self._live.state == "starting"
            seconds = time.monotonic() - self._seen_at if last else stages[number + 1].at_s - moment.at_s
            mark = Spinner("dots") if running else Text("✓", style="green")
            took = "" if last and not running else tr("run.after", seconds=f"{seconds:.1f}")
            if running and self._live:
                took += left_text(self._live)
            table.add_row(mark, Text(stage_text(moment.stage)), Text(took, style="dim"))
        return table


@contextlib.contextmanager
def screen(plain: bool) -> Iterator[Screen]:
    """The moving list on a terminal that can move, lines elsewhere."""
    if plain or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Lines()
        return
    with Moving() as moving:
        yield moving


def left_text(live: Live) -> str:
    """How long it will still take, in brackets; "" where no earlier start of the same plan tells."""
    from fitserve.run.estimate import seconds_left

    left = seconds_left(live) if live.state == "starting" else None
    return "" if left is None else tr("run.left", seconds=max(1, round(left)))


def stage_text(stage: str) -> str:
    """A stage in the reader's words."""
    return tr(f"run.stage_{stage}")
