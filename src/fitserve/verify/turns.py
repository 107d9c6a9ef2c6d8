"""Many turns of one conversation with a picture in it: every one answered, and the memory stays where it was."""

from __future__ import annotations

import time

from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.units import MIB, format_bytes
from fitserve.verify.pictures import asked
from fitserve.verify.questions import answered
from fitserve.verify.service import Messages, Service, pictured
from fitserve.verify.subject import Subject, Used

TURNS = 12
_SETTLED = 4  # the first turns may compile and fill caches
_GROWTH = 64 * MIB


async def many(subject: Subject, service: Service) -> Check:
    """Each turn sends all that was said before it."""
    messages: Messages = []
    seen: list[Used | None] = []
    for number in range(TURNS):
        content: object = tr("verify.ask_turn", number=number + 1)
        if number == 0 and subject.takes_pictures:
            content = pictured(tr("verify.ask_picture"), [asked(int(time.time()), demo=subject.demo).url])
        messages.append({"role": "user", "content": content})
        said = await service.ask(messages, 48)
        plain = answered(said)
        if plain.state is not CheckState.OK:
            return Check("", plain.state, tr("verify.turn_failed", number=number + 1), plain.evidence or plain.detail)
        messages.append({"role": "assistant", "content": said.text})
        seen.append(subject.memory())
    return judged(subject, seen)


def judged(subject: Subject, seen: list[Used | None]) -> Check:
    """Growth from the settled turns to the last, on the card where it is largest."""
    early, late = seen[_SETTLED - 1], seen[-1]
    if early is None or late is None:
        return Check("", CheckState.UNKNOWN, tr("verify.turns_memory_unseen", count=len(seen)))
    grown = max(after - before for before, after in zip(early.cards, late.cards, strict=False))
    figures = {"count": len(seen), "grown": format_bytes(max(0, grown))}
    if grown <= _GROWTH:
        return Check("", CheckState.OK, tr("verify.turns_flat", **figures))
    course = " → ".join(format_bytes(max(used.cards)) for used in seen[_SETTLED - 1 :] if used)
    hint = f"fitserve doctor {subject.deployment.name}" if subject.deployment else ""
    return Check("", CheckState.FAIL, tr("verify.turns_grow", **figures), course, hint)
