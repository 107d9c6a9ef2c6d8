"""What a reader of the page sees and does, without any page: values in, values out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from fitserve.chat.answer import Answer
from fitserve.chat.conversation import Conversation, OnNewPicture, Question
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.images import Picture, read_picture
from fitserve.chat.models import with_model
from fitserve.chat.ongoing import Dropped, Ongoing
from fitserve.chat.said import Problem, Said, said
from fitserve.chat.stream import answers
from fitserve.text import tr


class Kind(StrEnum):
    """What a bubble holds."""

    QUESTION = "question"
    THINKING = "thinking"
    ANSWER = "answer"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Bubble:
    """One bubble of the conversation. `text` is the model's or the reader's own; `said` is ours."""

    kind: Kind
    text: str = ""
    files: tuple[Path, ...] = ()
    said: tuple[Said, ...] = ()
    evidence: str = ""


@dataclass(frozen=True)
class Draft:
    """What stands in the text box."""

    text: str = ""
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Talk:
    """Everything one reader sees. `draft` is set where the text box is to be filled again."""

    conversation: Conversation = field(default_factory=Conversation)
    bubbles: tuple[Bubble, ...] = ()
    notices: tuple[Said, ...] = ()
    busy: bool = False
    draft: Draft | None = None
    answer: Answer | None = None
    last: Question | None = None
    asked: int = 0  # questions sent since the page was opened or cleared
    aside: tuple[Bubble, ...] = ()  # the bubbles that a new picture left behind

    @property
    def can_bring_back(self) -> bool:
        """Whether earlier turns were set aside by the last question."""
        return bool(self.last and self.last.started_over and not self.busy)


@dataclass
class Desk:
    """What all readers share: who is asked, and which answers are under way."""

    endpoint: Endpoint
    ongoing: Ongoing

    async def ask(
        self, talk: Talk, draft: Draft, policy: OnNewPicture, reader: str, language: str
    ) -> AsyncGenerator[Talk, None]:
        """Send a question; the talk as it goes on. Problems are bubbles or notices, never exceptions."""
        if not draft.text.strip() and not draft.files:
            yield replace(talk, busy=False)
            return
        yield replace(talk, busy=True, notices=(), answer=None)
        try:
            pictures = await asyncio.to_thread(_read, draft.files)
        except Problem as problem:
            yield replace(talk, busy=False, notices=_told(problem), draft=draft, answer=None)
            return
        text = draft.text.strip() or tr("chat.describe", language)
        question = talk.conversation.ask(text, pictures, policy)
        notices = tuple(notice for picture in pictures for notice in picture.notices)
        before: tuple[Bubble, ...] = talk.bubbles
        aside: tuple[Bubble, ...] = ()
        if question.started_over:
            notices, before, aside = (*notices, said("web.started_over")), (), talk.bubbles
        bubbles = (*before, Bubble(Kind.QUESTION, text, draft.files))
        opened = Talk(question.before, bubbles, notices, True, None, None, question, talk.asked + 1, aside)
        async with aclosing(self._answered(opened, question, draft, reader)) as talks:
            async for state in talks:
                yield state

    async def bring_back(self, talk: Talk, reader: str) -> AsyncGenerator[Talk, None]:
        """Put the earlier turns back and ask the last question again, with them."""
        if talk.last is None or not talk.can_bring_back:
            yield talk
            return
        question = talk.last.kept()
        asked = tuple(bubble for bubble in talk.bubbles if bubble.kind is Kind.QUESTION)[:1]
        bubbles, notices = (*talk.aside, *asked), (said("web.brought_back"),)
        opened = Talk(question.before, bubbles, notices, True, None, None, question, talk.asked + 1)
        draft = Draft(question.turn.question, asked[0].files if asked else ())
        async with aclosing(self._answered(opened, question, draft, reader)) as talks:
            async for state in talks:
                yield state

    async def _answered(self, talk: Talk, question: Question, draft: Draft, reader: str) -> AsyncGenerator[Talk, None]:
        """Follow one answer. What has come is part of the conversation at each moment, so that a stop keeps it."""
        yield talk
        grown = talk
        try:
            endpoint = await with_model(self.endpoint)
            stream = self.ongoing.follow(reader, answers(endpoint, question.messages()))
            async with aclosing(stream) as states:
                async for answer in states:
                    bubbles = (*talk.bubbles, *_bubbles(answer))
                    conversation = question.answered(answer.text) if answer.text else question.before
                    grown = replace(talk, conversation=conversation, bubbles=bubbles, answer=answer)
                    yield grown
        except Dropped:  # by the clear button; the page takes a generator's last word, so this must be it
            yield cleared()
            return
        except Problem as problem:
            told = Bubble(Kind.PROBLEM, said=_told(problem), evidence=problem.evidence)
            yield replace(grown, conversation=question.before, bubbles=(*grown.bubbles, told), busy=False, draft=draft)
            return
        yield replace(grown, busy=False, notices=(*talk.notices, *_ending(grown.answer)))


def cleared() -> Talk:
    """A new conversation."""
    return Talk(notices=(said("web.cleared"),))


def figures(answer: Answer | None) -> Said | None:
    """Time to the first token and speed, as far as they are known."""
    if answer is None or answer.first_token_s is None or not answer.finish_reason:
        return None
    first = f"{answer.first_token_s:.2f}"
    if answer.usage is None:
        return said("chat.figures_unknown", first=first)
    speed = "?" if answer.tokens_per_second is None else f"{answer.tokens_per_second:.1f}"
    counts = {"answer": answer.usage.completion_tokens, "prompt": answer.usage.prompt_tokens}
    return said("chat.figures", first=first, speed=speed, **counts)


def _bubbles(answer: Answer) -> tuple[Bubble, ...]:
    thinking = (Bubble(Kind.THINKING, answer.thinking),) if answer.thinking else ()
    return (*thinking, Bubble(Kind.ANSWER, answer.text)) if answer.text or not thinking else thinking


def _ending(answer: Answer | None) -> tuple[Said, ...]:
    """What is to be said of how it ended."""
    if answer is None or not answer.finish_reason:
        return (said("chat.stopped"),)
    return (said("chat.cut_off"),) if answer.finish_reason == "length" else ()


def _read(files: tuple[Path, ...]) -> tuple[Picture, ...]:
    return tuple(read_picture(path) for path in files)


def _told(problem: Problem) -> tuple[Said, ...]:
    return (problem.what, problem.next_step) if problem.next_step else (problem.what,)
