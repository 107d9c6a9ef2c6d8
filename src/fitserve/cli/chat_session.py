"""A conversation on the terminal: questions, `/image`, `/clear`, `/keep`, `/quit`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

import click

from fitserve.chat.conversation import Conversation, OnNewPicture
from fitserve.chat.images import Limits, Picture, read_picture
from fitserve.chat.models import with_model
from fitserve.cli.chat_screen import Screen, colour
from fitserve.cli.target import DEMO, Target
from fitserve.errors import FitserveError
from fitserve.text import tr


class Session:
    """One reader, one endpoint. A failure is told and the conversation goes on."""

    def __init__(self, target: Target, pictures: tuple[Picture, ...], limits: Limits, max_tokens: int | None) -> None:
        self._endpoint = target.endpoint
        self._is_demo = target.is_demo
        self._pictures = pictures
        self._limits = limits
        self._max_tokens = max_tokens
        self._policy = OnNewPicture.START_OVER
        self._talk = Conversation()
        self._screen = Screen()

    def run(self) -> None:
        """Until `/quit` or the end of input. Raises NoAnswer where nothing is served at all."""
        self._endpoint = asyncio.run(with_model(self._endpoint))
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - its import gives input() a history and line editing
        self._screen.note(tr("chat.banner", model=self._endpoint.model, url=self._endpoint.base_url))
        if self._is_demo or self._endpoint.model == DEMO:
            self._screen.note(tr("chat.toy"))
        self._screen.pictures(self._pictures)
        while (line := _line()) is not None and line != "/quit":
            try:
                self._take(line)
            except FitserveError as error:
                self._tell(error)
            except KeyboardInterrupt:
                self._screen.note(tr("chat.stopped"))

    def _take(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if not verb.startswith("/"):
            self._ask(line)
        elif verb == "/image":
            self._attach(rest)
        elif verb == "/clear":
            self._talk, self._pictures = Conversation(), ()
            self._screen.note(tr("chat.cleared"))
        elif verb == "/keep":
            self._policy = OnNewPicture.KEEP
            self._screen.note(tr("chat.keeping"))
        else:
            self._screen.note(tr("chat.unknown_command", name=verb))

    def _attach(self, path: str) -> None:
        picture = read_picture(Path(path.strip().strip("'\"")).expanduser(), self._limits)
        self._pictures = (*self._pictures, picture)
        self._screen.pictures((picture,))
        self._screen.note(tr("chat.attached", name=picture.name, size=f"{picture.width}x{picture.height}"))

    def _ask(self, text: str) -> None:
        question = self._talk.ask(text, self._pictures, self._policy)
        if question.started_over:
            self._screen.note(tr("chat.started_over"))
        answer = asyncio.run(self._screen.show(self._endpoint, question.messages(), self._max_tokens))
        self._talk, self._pictures = question.answered(answer), ()

    def _tell(self, error: FitserveError) -> None:
        lines = [error.message, error.evidence, error.hint and f"{tr('failure.next')} {error.hint}"]
        for line in filter(None, lines):
            click.secho(line, fg="red" if line == error.message else None, err=True, color=colour())


def _line() -> str | None:
    """The next line with something on it, or None at the end of input."""
    try:
        while True:
            line = input("> ") if sys.stdin.isatty() else input()
            if line.strip():
                return line.strip()
    except EOFError:
        return None
