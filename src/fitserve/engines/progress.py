"""What a long piece of work says while it goes on: stages with times; a live line on a terminal, else plain lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from fitserve.clock import Clock, SystemClock
from fitserve.text import tr

if TYPE_CHECKING:
    from rich.status import Status

HEARTBEAT_SECONDS = 15.0


class Progress(Protocol):
    """Told of stages; shows them as it likes."""

    def begin(self, sentence: str) -> None:
        """A stage begins."""

    def detail(self, text: str) -> None:
        """What is being done right now. May be called often, and with the same text."""

    def end(self) -> None:
        """The stage is done."""

    def say(self, sentence: str) -> None:
        """Something that a person should know and that stays on the screen."""


class Lines:
    """Plain lines: each stage when it begins and ends, and a sign of life where one takes long."""

    def __init__(self, stream: TextIO | None = None, clock: Clock | None = None) -> None:
        self.stream, self.clock = stream or sys.stderr, clock or SystemClock()
        self.began = self.spoke = self.clock.monotonic()
        self.stage = ""

    def begin(self, sentence: str) -> None:
        self.stage, self.began = sentence, self.clock.monotonic()
        self.say(sentence)

    def detail(self, text: str) -> None:
        if self.clock.monotonic() - self.spoke >= HEARTBEAT_SECONDS:
            self.say("  " + tr("engines.elapsed", what=text or self.stage, seconds=self._seconds()))

    def end(self) -> None:
        if self._seconds() >= 1:
            self.say("  " + tr("engines.done_in", seconds=self._seconds()))

    def say(self, sentence: str) -> None:
        self.spoke = self.clock.monotonic()
        self.stream.write(sentence + "\n")
        self.stream.flush()

    def _seconds(self) -> int:
        return round(self.clock.monotonic() - self.began)


class Live:
    """A moving line on a terminal, with the time of the stage; what is done stays above it."""

    def __init__(self, clock: Clock | None = None) -> None:
        from rich.console import Console

        self.console = Console(stderr=True, highlight=False)
        self.clock = clock or SystemClock()
        self.began, self.stage = self.clock.monotonic(), ""
        self.status: Status | None = None

    def begin(self, sentence: str) -> None:
        self._stop()
        self.stage, self.began = sentence, self.clock.monotonic()
        self.status = self.console.status(self._line(""))
        self.status.start()

    def detail(self, text: str) -> None:
        if self.status is not None:
            self.status.update(self._line(text))

    def end(self) -> None:
        self._stop()
        seconds = round(self.clock.monotonic() - self.began)
        self.say(f"✓ {self.stage}" + (f"  {seconds} s" if seconds else ""))

    def say(self, sentence: str) -> None:
        self.console.print(sentence, markup=False)

    def close(self) -> None:
        """Give the terminal back, whatever happened."""
        self._stop()

    def _stop(self) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None

    def _line(self, text: str) -> str:
        from rich.markup import escape

        seconds = round(self.clock.monotonic() - self.began)
        return escape(f"{self.stage}  {seconds} s  {text[: max(10, self.console.width - len(self.stage) - 16)]}")


@contextmanager
def shown() -> Iterator[Progress]:
    """The display that fits where stderr goes."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    live = Live()
    try:
        yield live
    finally:
        live.close()
