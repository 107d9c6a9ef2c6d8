"""A chat that somebody has open: its newest state, and the answer that grows in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from fitserve.chat.answer import Answer
from fitserve.chat.conversation import OnNewPicture, Turn
from fitserve.chat.desk import Asked, Desk, Done, Failed, Growing, Step
from fitserve.chat.images import Picture
from fitserve.chat.records import Chat, Titled
from fitserve.chat.said import ChatMissing, Problem, Said, said
from fitserve.web.refused import Conflict, Invalid, Mistake

if TYPE_CHECKING:
    from fitserve.chat.meter import Meter

Changed = Callable[["OpenChat", bool], None]


class OpenChat:
    """`version` counts changes other than the growth of an answer. `changed` is told whether the list changes too."""

    def __init__(self, chat: Chat, desk: Desk, changed: Changed) -> None:
        self.chat = chat
        self.desk = desk
        self.version = 0
        self.holder = ""  # the tab that asked for the answer under way
        self.asked = 0  # questions so far: tells one answer under way from the next
        self.answer: Answer | None = None  # while it grows
        self.problem: Problem | None = None  # of the last turn
        self.notices: tuple[Said, ...] = ()
        self.meter: Meter | None = None
        self._changed = changed
        self._following: asyncio.Task[None] | None = None

    @property
    def answering(self) -> bool:
        """Whether an answer is under way."""
        return self._following is not None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All, the last as far as it has come."""
        turns = self.chat.conversation.turns
        return (*turns[:-1], turns[-1].answered(self.answer)) if turns and self.answer else turns

    @property
    def answer_now(self) -> tuple[str, str]:
        """(text, thinking) of the answer that grows."""
        return (self.answer.text, self.answer.thinking) if self.answer else ("", "")

    async def ask(self, holder: str, text: str, pictures: tuple[Picture, ...], policy: OnNewPicture) -> None:
        """The next question. Raises Conflict while another is being answered, and what the shelf says to it."""
        await self._start(holder, lambda: self.desk.ask(self.chat.id, text, pictures, policy))

    async def again(self, holder: str, with_earlier: bool) -> None:
        """The last question once more; `with_earlier`: with the turns that its picture had set aside."""
        self._turn(len(self.chat.conversation.turns) - 1)
        asking = self.desk.compare if with_earlier else self.desk.again
        await self._start(holder, lambda: asking(self.chat.id))

    async def edit(self, holder: str, index: int, text: str, pictures: tuple[Picture, ...] | None) -> None:
        """The question at `index`, changed; what came after it gives way."""
        self._turn(index)
        await self._start(holder, lambda: self.desk.edit(self.chat.id, index, text, pictures))

    async def undo(self) -> None:
        """The replaced answer is brought back. An answer under way is stopped."""
        await self.stop()
        self._idle()
        await self._becomes(self.desk.undo(self.chat.id))

    async def start_at(self, turn: int) -> None:
        """Turns before `turn` are no longer sent. An answer under way is stopped."""
        await self.stop()
        self._idle()
        await self._becomes(self.desk.start_at(self.chat.id, max(0, min(turn, len(self.chat.conversation.turns)))))

    async def rename(self, title: str) -> None:
        """The reader's own title."""
        self.desk.shelf.append(self.chat.id, Titled(title=title))
        self.chat = replace(self.chat, title=title)
        self._bump()

    async def stop(self) -> None:
        """End the answer under way and keep what came."""
        if following := self._following:
            await asyncio.sleep(0)  # a task that is cancelled before its first step does not even clean up
            if following is self._following and not self.desk.stop(self.chat.id):
                following.cancel()
            await asyncio.wait([following])

    async def weigh(self) -> None:
        """Look again what fills the window; an endpoint that hangs is not waited for: then its size is unknown."""
        with suppress(ChatMissing):
            self.meter = await self.desk.meter(self.chat.id)

    def _turn(self, index: int) -> None:
        if not 0 <= index < len(self.chat.conversation.turns):
            raise Invalid(said("page.no_such_turn"), code="no_such_turn")

    def _idle(self) -> None:
        if self.answering:
            next_step = said("page.still_answering_next")
            raise Conflict(said("page.still_answering"), code="still_answering", next_step=next_step)

    async def _start(self, holder: str, asking: Callable[[], AsyncGenerator[Step, None]]) -> None:
        """Until the question is on the shelf, or the shelf does not take it; the answer is followed beside."""
        self._idle()
        steps = asking()
        first = await anext(steps)  # nothing is waited for in it: no other question comes between
        if isinstance(first, Failed):
            await steps.aclose()
            raise first.problem
        self.holder, self.problem, self.notices = holder, None, ()
        self.asked += 1
        self._following = asyncio.create_task(self._follow(steps))
        self._take(first)

    async def _follow(self, steps: AsyncGenerator[Step, None]) -> None:
        try:
            async with aclosing(steps):
                async for step in steps:
                    self._take(step)
        except asyncio.CancelledError:  # stopped before the engine was reached
            self.notices = (*self.notices, said("chat.stopped"))
        except Exception:  # our own mistake: the reader is told, and the log has the traceback
            logging.getLogger("uvicorn.error").exception("an answer ended")
            self.problem = Mistake(
                said("page.server_failed"), code="server_failed", next_step=said("page.server_failed_next")
            )
        finally:
            self.answer = None
            try:
                with suppress(ChatMissing):  # deleted meanwhile, by another server
                    self.chat = self.desk.shelf.load(self.chat.id)
                    await self.weigh()
            finally:  # only now: a state that says «answered» is the last one
                self._following, self.holder = None, ""
                self._bump()

    def _take(self, step: Step) -> None:
        match step:
            case Growing(answer):
                self.answer = answer
                self._changed(self, False)
                return
            case Asked(chat, notices):
                self.chat, self.answer, self.notices = chat, Answer(), notices
            case Done(chat, _, notices):
                self.chat, self.answer, self.notices = chat, None, (*self.notices, *notices)
            case Failed(problem, chat, _):
                self.chat, self.answer, self.problem = chat, None, problem
        self._bump()

    async def _becomes(self, chat: Chat) -> None:
        self.chat, self.problem, self.notices = chat, None, ()
        await self.weigh()
        self._bump()

    def _bump(self) -> None:
        self.version += 1
        self._changed(self, True)
