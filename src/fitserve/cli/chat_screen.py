"""An answer on the terminal while it comes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from fitserve.chat.answer import Answer
from fitserve.chat.clean import ControlFilter, strip_control
from fitserve.chat.conversation import Figures
from fitserve.chat.stream import answers
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.chat.images import Picture


def colour() -> bool | None:
    """For click: None leaves it to the terminal, False is NO_COLOR."""
    return False if os.environ.get("NO_COLOR") else None


class Screen:
    """Prints what is new with each event. `quiet` prints nothing and only collects."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    def note(self, text: str) -> None:
        """A line beside the answer."""
        if not self._quiet:
            click.secho(text, dim=True, err=True, color=colour())

    def pictures(self, pictures: tuple[Picture, ...]) -> None:
        """What was changed on the pictures."""
        for picture in pictures:
            for notice in picture.notices:
                self.note(notice.text())

    def answer(self, text: str) -> None:
        """An answer that is already there."""
        click.echo(strip_control(text), color=colour())

    async def show(self, endpoint: Endpoint, messages: list[dict[str, object]], max_tokens: int | None) -> Answer:
        """Stream one answer. Raises NoAnswer or NoAnswerInTime."""
        answer, text, thinking = Answer(), Piecewise(err=False), Piecewise(err=True)
        try:
            async for answer in answers(endpoint, messages, max_tokens):
                if not self._quiet:
                    thinking.show(answer.thinking)
                    text.show(answer.text)
        finally:
            thinking.end()
            text.end()
        self._figures(answer)
        return answer

    def _figures(self, answer: Answer) -> None:
        if answer.finish_reason == "length":
            self.note(tr("chat.cut_off"))
        if line := Figures.of(answer).line:
            self.note(line.text())


class Piecewise:
    """A text that only grows, printed as far as it has come, without control sequences."""

    def __init__(self, err: bool) -> None:
        self._err = err
        self._shown = 0
        self._filter = ControlFilter()

    def show(self, whole: str) -> None:
        """Print what is new. Where a late mark turned text into thinking, what stands stays."""
        new = whole[self._shown :]
        if new:
            click.secho(self._filter.feed(new), nl=False, err=self._err, dim=self._err or None, color=colour())
            (sys.stderr if self._err else sys.stdout).flush()
        self._shown = max(self._shown, len(whole))

    def end(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            click.echo(err=self._err)
            self._shown = 0
