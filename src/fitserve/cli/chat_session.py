"""A conversation on the terminal: questions, and the commands behind a slash."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from fitserve.chat.conversation import Conversation, OnNewPicture, Question
from fitserve.chat.images import Limits, Picture, read_picture
from fitserve.chat.meter import meter
from fitserve.chat.models import served_models, with_model
from fitserve.chat.room import Room
from fitserve.cli.chat_screen import Screen, colour
from fitserve.cli.target import DEMO, Target
from fitserve.errors import FitserveError, SettingsError
from fitserve.text import tr


class Session:
    """One reader, one endpoint. A failure is told and the conversation goes on."""

    def __init__(
        self, target: Target, room: Room, pictures: tuple[Picture, ...], limits: Limits, max_tokens: int | None
    ) -> None:
        self._endpoint = target.endpoint
        self._is_demo = target.is_demo
        self._room = room
        self._pictures = pictures
        self._limits = limits
        self._max_tokens = max_tokens
        self._policy = OnNewPicture.START_OVER
        self._talk = Conversation()
        self._began = time.time()
        self._screen = Screen()
        self._commands = {
            "/image": self._attach,
            "/clear": self._clear,
            "/keep": self._keep,
            "/again": self._again,
            "/undo": self._undo,
            "/drop": self._drop,
            "/save": self._save,
        }

    def run(self) -> None:
        """Until `/quit` or the end of input. Raises NoAnswer where nothing is served at all."""
        asyncio.run(self._look_up())
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

    async def _look_up(self) -> None:
        """The model's name, and its window where no plan told it."""
        self._endpoint = await with_model(self._endpoint)
        if self._room.window is None:
            with contextlib.suppress(FitserveError):
                models = await served_models(self._endpoint)
                windows = [model.max_model_len for model in models if model.name == self._endpoint.model]
                self._room = replace(self._room, window=next(iter(windows), None))

    def _take(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if not verb.startswith("/"):
            self._ask(self._talk.ask(line, self._pictures, self._policy))
        elif verb in self._commands:
            self._commands[verb](rest.strip().strip("'\""))
        else:
            known = ", ".join([*self._commands, "/quit"])
            self._screen.note(tr("chat.unknown_command", name=verb, known=known))

    def _attach(self, path: str) -> None:
        picture = read_picture(Path(path).expanduser(), self._limits)
        self._pictures = (*self._pictures, picture)
        self._screen.pictures((picture,))
        self._screen.note(tr("chat.attached", name=picture.name, size=picture.cost.text()))

    def _clear(self, _rest: str) -> None:
        self._talk, self._pictures = Conversation(), ()
        self._screen.note(tr("chat.cleared"))

    def _keep(self, _rest: str) -> None:
        self._policy = OnNewPicture.KEEP
        self._screen.note(tr("chat.keeping"))

    def _again(self, _rest: str) -> None:
        if question := self._talk.again():
            self._ask(question)

    def _undo(self, _rest: str) -> None:
        self._talk = self._talk.undone()
        if self._talk.turns:
            self._screen.answer(self._talk.turns[-1].answer)

    def _drop(self, _rest: str) -> None:
        since = meter(self._talk, self._room).since_after_drop() or self._talk.since + 1
        self._talk = self._talk.starting_at(since)
        self._screen.note(tr("chat.dropped", count=self._talk.since))

    def _save(self, path: str) -> None:
        from fitserve.chat.export import as_zip
        from fitserve.chat.records import Chat

        chat = Chat("", created=self._began, updated=time.time(), conversation=self._talk)
        file = Path(path or "chat.zip").expanduser()
        try:
            file.write_bytes(as_zip(chat))
        except OSError as error:
            raise SettingsError(tr("chat.not_saved", file=file), evidence=error.strerror or str(error)) from error
        self._screen.note(tr("chat.saved", file=file))

    def _ask(self, question: Question) -> None:
        if question.started_over:
            self._screen.note(tr("chat.started_over"))
        answer = asyncio.run(self._screen.show(self._endpoint, question.messages(), self._max_tokens))
        self._talk, self._pictures = question.answered(answer, self._endpoint.model), ()
        found = meter(self._talk, self._room)
        if found.nearly_full and found.share is not None and not found.too_many_pictures:
            self._screen.note(tr("chat.nearly_full", percent=round(100 * found.share), window=found.window))

    def _tell(self, error: FitserveError) -> None:
        lines = [error.message, error.evidence, error.hint and f"{tr('failure.next')}{error.hint}"]
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
