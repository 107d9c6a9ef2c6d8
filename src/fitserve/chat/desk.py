"""One reader's chats in motion: a question is asked, its answer grows, and the shelf keeps both as they happen.

A page or a terminal calls this and shows the steps; nothing here knows of either. Each chat has at most one answer
under way: who asks again, stops or leaves ends it, and the engine's slot with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fitserve.chat.answer import Answer
from fitserve.chat.conversation import BROKEN, OnNewPicture, Question, unfinished
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.images import Picture
from fitserve.chat.meter import Meter, meter
from fitserve.chat.models import served_models, with_model
from fitserve.chat.ongoing import Dropped, Ongoing
from fitserve.chat.records import Chat, Moved, Record, Titled, Undone, answered, asked
from fitserve.chat.room import Room
from fitserve.chat.said import Problem, Said, said
from fitserve.chat.shelf import Shelf, new_id
from fitserve.chat.stream import answers

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

_LOOK_S = 1.0  # for an endpoint's window: a reader who opens a chat does not wait for an engine that hangs


@dataclass(frozen=True)
class Asked:
    """The question is on its way. `chat` ends with it, unanswered; `notices` say what was set aside."""

    chat: Chat
    notices: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Growing:
    """The answer so far."""

    answer: Answer


@dataclass(frozen=True)
class Done:
    """It ended, by itself or by a stop. `chat` ends with what came; `notices` say how it ended."""

    chat: Chat
    answer: Answer
    notices: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Failed:
    """It failed. What came before is in `chat`, but is not sent with later questions."""

    problem: Problem
    chat: Chat
    answer: Answer


Step = Asked | Growing | Done | Failed


class Desk:
    """Who is asked, where the chats are kept, and which answers are under way."""

    def __init__(
        self,
        endpoint: Endpoint,
        shelf: Shelf,
        room: Room | None = None,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.shelf = shelf
        self.ongoing = Ongoing()
        self._planned = room or Room()
        self._window: int | None = None  # as the endpoint told it
        self._transport = transport

    async def room(self) -> Room:
        """How much fits. Where no plan told the window, the endpoint is asked; what it does not tell is unknown."""
        if self._planned.window is not None:
            return self._planned
        if self._window is None:
            with suppress(Problem, TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    models = await served_models(self.endpoint, self._transport)
                served = next((model for model in models if model.name == self.endpoint.model), models[0])
                self._window = served.max_model_len
        return replace(self._planned, window=self._window)

    async def meter(
        self,
        chat_id: str,
        text: str = "",
        pictures: tuple[Picture, ...] = (),
        policy: OnNewPicture = OnNewPicture.START_OVER,
    ) -> Meter:
        """What would fill the window with this draft."""
        question = self.shelf.load(chat_id).conversation.ask(text, pictures, policy)
        return meter(question.before, await self.room(), text, pictures)

    def ask(
        self, chat_id: str, text: str, pictures: tuple[Picture, ...], policy: OnNewPicture = OnNewPicture.START_OVER
    ) -> AsyncGenerator[Step, None]:
        """A question and the steps of its answer. Problems are steps, never exceptions, but for ChatMissing."""
        return self._steps(chat_id, self.shelf.load(chat_id).conversation.ask(text, pictures, policy))

    def again(self, chat_id: str) -> AsyncGenerator[Step, None]:
        """The last question once more; the answer it had can be brought back with `undo`."""
        talk = self.shelf.load(chat_id).conversation
        return self.edit(chat_id, len(talk.turns) - 1)

    def edit(
        self, chat_id: str, index: int, text: str | None = None, pictures: tuple[Picture, ...] | None = None
    ) -> AsyncGenerator[Step, None]:
        """The question at `index` changed and asked again; what came after it can be brought back with `undo`."""
        return self._steps(chat_id, self.shelf.load(chat_id).conversation.edited(index, text, pictures))

    def compare(self, chat_id: str) -> AsyncGenerator[Step, None]:
        """The last question once more, with the turns that its picture had set aside."""
        talk = self.shelf.load(chat_id).conversation
        before = talk.edited(len(talk.turns) - 1)
        return self._steps(chat_id, replace(before, since=talk.since_before).kept())

    def stop(self, chat_id: str) -> bool:
        """End the answer under way; what came is kept. False where there was none."""
        return self.ongoing.stop(chat_id)

    def undo(self, chat_id: str) -> Chat:
        """The chat as it was before the last replaced answer; a second time gives the newer one back."""
        self.ongoing.drop(chat_id)
        return self._changed(chat_id, Undone())

    def start_at(self, chat_id: str, since: int) -> Chat:
        """Turns before `since` are no longer sent: `len(turns)` clears the context, `Meter.since_after_drop` frees."""
        self.ongoing.drop(chat_id)
        return self._changed(chat_id, Moved(since=since))

    def rename(self, chat_id: str, title: str) -> Chat:
        """The reader's own title; an empty one gives the first question back."""
        return self._changed(chat_id, Titled(title=title))

    def delete(self, chat_id: str) -> None:
        """The chat with its pictures."""
        self.ongoing.drop(chat_id)
        self.shelf.delete(chat_id)

    def _changed(self, chat_id: str, record: Record) -> Chat:
        self.shelf.append(chat_id, record)
        return self.shelf.load(chat_id)

    async def _steps(self, chat_id: str, question: Question) -> AsyncGenerator[Step, None]:
        question = replace(question, turn=replace(question.turn, key=new_id()))
        answer, model = Answer(), self.endpoint.model
        try:
            self.shelf.append(chat_id, asked(question), question.turn.pictures)
            yield Asked(self.shelf.load(chat_id), _set_aside(question))
            endpoint = await with_model(self.endpoint, self._transport)
            model = endpoint.model
            stream = answers(endpoint, question.messages(), transport=self._transport)
            async with aclosing(self.ongoing.follow(chat_id, stream)) as states:
                async for answer in states:
                    yield Growing(answer)
        except Dropped:
            self._keep(chat_id, question, answer, model)
            return
        except Problem as problem:
            self._window = None  # it may come back as another model
            chat = self._keep(chat_id, question, replace(answer, finish_reason=BROKEN), model)
            yield Failed(problem, chat, answer)
            return
        except (GeneratorExit, asyncio.CancelledError):
            self._keep(chat_id, question, answer, model)
            raise
        yield Done(self._keep(chat_id, question, answer, model), answer, _ending(answer))

    def _keep(self, chat_id: str, question: Question, answer: Answer, model: str) -> Chat:
        """What came, on the shelf. A chat that was deleted meanwhile, or a full disk, takes nothing from the reader."""
        whole = Chat(chat_id, conversation=question.answered(answer, model))
        try:
            if answer.text or answer.thinking:
                self.shelf.append(chat_id, answered(whole.conversation.turns[-1]))
            return self.shelf.load(chat_id)
        except Problem:
            return whole


def _set_aside(question: Question) -> tuple[Said, ...]:
    return (said("chat.set_aside"),) if question.started_over else ()


def _ending(answer: Answer) -> tuple[Said, ...]:
    """What is to be said of how it ended."""
    ending = unfinished(answer.finish_reason)
    return (ending,) if ending else ()
