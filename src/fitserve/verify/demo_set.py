"""The demo model's own questions: pictures that it has never seen, and answers that can be judged."""

from __future__ import annotations

import base64
import time

from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify.questions import short
from fitserve.verify.service import Service, pictured
from fitserve.verify.subject import Subject

COUNT = 20
_ENOUGH = 18  # right answers; the model itself is right in 99 of 100
_SEEDS = 10**9  # fresh ones, below those of the training


async def right(subject: Subject, service: Service) -> Check:
    """In both languages by turns."""
    from fitserve.demo import sample

    first, wrong = int(time.time()) % _SEEDS * COUNT % _SEEDS, []
    for number in range(COUNT):
        one = sample(first + number, "zh" if number % 2 else "en")
        url = f"data:{one.mime_type};base64,{base64.b64encode(one.image_bytes).decode()}"
        said = await service.ask(pictured(one.question.text, [url]), 48)
        if not one.is_right(said.text):
            wrong.append(f"{one.question.text} {short(said.text)}")
    good = COUNT - len(wrong)
    if good >= _ENOUGH:
        return Check("", CheckState.OK, tr("verify.demo_right", right=good, count=COUNT))
    hint = f"fitserve doctor {subject.deployment.name}" if subject.deployment else ""
    return Check("", CheckState.FAIL, tr("verify.demo_right", right=good, count=COUNT), "; ".join(wrong[:3]), hint)
