"""What every client does: ask which models there are, ask in text, ask about a picture, about several."""

from __future__ import annotations

import time

from fitserve.chat.models import served_models
from fitserve.chat.said import NoAnswer
from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify.declined import declines
from fitserve.verify.pictures import Asked, asked
from fitserve.verify.service import Said, Service, pictured
from fitserve.verify.subject import Subject

_SEVERAL = 3
_ENDS = ("stop", "length")


async def models(subject: Subject, service: Service) -> Check:
    """The served name is there, with the planned length."""
    found = await served_models(service.endpoint)
    names = ", ".join(model.name for model in found)
    mine = next((model for model in found if model.name == service.endpoint.model), None)
    if mine is None:
        return Check("", CheckState.FAIL, tr("verify.models_missing", name=service.endpoint.model), names)
    planned = subject.settings.get("max_model_len")
    if planned is not None and mine.max_model_len not in (None, planned):
        evidence = f"max_model_len {mine.max_model_len} ({planned})"
        return Check("", CheckState.FAIL, tr("verify.models_other_length"), evidence)
    length = f"{mine.max_model_len:,}" if mine.max_model_len else "?"
    return Check("", CheckState.OK, tr("verify.models_there", name=mine.name, length=length))


async def text(subject: Subject, service: Service) -> Check:
    """A short answer in text. The demo model knows its pictures alone: to say so is its right answer."""
    said = await service.ask(tr("verify.ask_hello"), 64)
    plain = answered(said)
    if plain.state is not CheckState.OK or not declines(said.text):
        return plain
    if subject.demo:
        return Check("", CheckState.OK, tr("verify.demo_text", answer=short(said.text)))
    return declined(tr("verify.ask_hello"), said)


def answered(said: Said) -> Check:
    """Any answer with content and an end."""
    if not said.text or said.finish not in _ENDS:
        return Check("", CheckState.FAIL, tr("verify.empty_answer"), f"finish_reason={said.finish or 'none'}")
    return Check("", CheckState.OK, tr("verify.answered", answer=short(said.text)))


def declined(question: str, said: Said) -> Check:
    """It answers, and says that it can't: for a person to judge."""
    return Check("", CheckState.WARN, tr("verify.declined", question=question), short(said.text))


def short(answer: str) -> str:
    """An answer for one line."""
    line = " ".join(answer.split())
    return line if len(line) <= 60 else line[:60] + "…"


async def image(subject: Subject, service: Service) -> Check:
    """One small picture. A wrong answer of the demo model is a failure, of another model a warning."""
    one = asked(int(time.time()), demo=subject.demo)
    said = await service.ask(pictured(one.question, [one.url]))
    plain = answered(said)
    if plain.state is not CheckState.OK:
        return plain
    if one.is_right(said.text):
        return Check("", CheckState.OK, tr("verify.right", answer=short(said.text)))
    if declines(said.text) and not subject.demo:
        return declined(one.question, said)
    state = CheckState.FAIL if subject.demo else CheckState.WARN
    hint = f"fitserve doctor {subject.deployment.name}" if subject.deployment else ""
    return Check("", state, tr("verify.wrong", question=one.question), short(said.text), hint)


async def images(subject: Subject, service: Service) -> Check:
    """As many as a request may have, three at most; where it is one, that a second is refused in words."""
    allowed = subject.pictures_allowed
    count = 2 if allowed in (None, 1) else min(allowed, _SEVERAL)
    start = int(time.time()) + 1
    shown = [asked(start + number, demo=subject.demo) for number in range(count)]
    question = shown[0].question if subject.demo else tr("verify.ask_colours")
    try:
        said = await service.ask(pictured(question, [one.url for one in shown]))
    except NoAnswer as error:
        if error.code == "endpoint_too_many_pictures" and allowed in (1, None):
            return Check("", CheckState.OK, tr("verify.one_picture"), error.evidence)
        raise
    if allowed == 1:
        return Check("", CheckState.WARN, tr("verify.limit_not_kept"), short(said.text))
    plain = answered(said)
    return _several(subject, question, shown, said) if plain.state is CheckState.OK else plain


def _several(subject: Subject, question: str, shown: list[Asked], said: Said) -> Check:
    """Right where every picture's colour is named. The demo model was made for one picture: it is not judged."""
    figures = {"count": len(shown), "answer": short(said.text)}
    if subject.demo:
        return Check("", CheckState.OK, tr("verify.demo_several", **figures))
    if all(one.is_right(said.text) for one in shown):
        return Check("", CheckState.OK, tr("verify.several", **figures))
    if declines(said.text):
        return declined(question, said)
    return Check("", CheckState.WARN, tr("verify.wrong", question=question), short(said.text))
