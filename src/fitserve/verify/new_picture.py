"""A new picture is looked at, not answered from the old one (S13): same words, same size, another picture."""

from __future__ import annotations

import time

from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify.pictures import Asked, asked
from fitserve.verify.questions import short
from fitserve.verify.service import Service, pictured
from fitserve.verify.subject import Subject

_PAIRS = 3


async def looked_at(subject: Subject, service: Service) -> Check:
    """Three pairs. The answer to the second picture of a pair must not be the one that is right for the first."""
    start = 2 * int(time.time())
    verdicts, last = [], ""
    for pair in range(_PAIRS):
        old, new = (asked(start + 2 * pair + step, demo=subject.demo) for step in (0, 1))
        await service.ask(pictured(old.question, [old.url]), 32)
        last = (await service.ask(pictured(new.question, [new.url]), 32)).text
        verdicts.append(verdict(old, new, last))
    stale, right = verdicts.count("stale"), verdicts.count("right")
    if stale > 1:
        hint = f"fitserve doctor {subject.deployment.name}" if subject.deployment else ""
        return Check("", CheckState.FAIL, tr("verify.old_picture", stale=stale, pairs=_PAIRS), short(last), hint)
    if stale:
        return Check("", CheckState.WARN, tr("verify.old_picture", stale=stale, pairs=_PAIRS), short(last))
    if right < _PAIRS:  # one answer for everything would be right now and then
        return Check("", CheckState.UNKNOWN, tr("verify.new_picture_unclear"), short(last))
    return Check("", CheckState.OK, tr("verify.new_picture", right=right, pairs=_PAIRS))


def verdict(old: Asked, new: Asked, answer: str) -> str:
    """`right` for the new picture, `stale` where it would be right for the old one, else `unclear`."""
    if new.is_right(answer):
        return "right"
    return "stale" if old.is_right(answer) else "unclear"
