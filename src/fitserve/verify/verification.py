"""All steps in order, each line as soon as it is known, none waited for without an end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from fitserve.errors import FitserveError
from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify import demo_set, engine_report, limits, new_picture, place, questions, streaming, turns
from fitserve.verify.service import Service
from fitserve.verify.step import Lines, Step, Timed
from fitserve.verify.subject import Subject

_QUIET_WAIT_S, _LOOK_S = 5.0, 0.5
_AWAY = ("endpoint_unreachable", "endpoint_engine_died")

STEPS = (
    Step("models", questions.models, quick=True),
    Step("settings", engine_report.settings, quick=True, asks=False),
    Step("kv_blocks", engine_report.blocks, quick=True),
    Step("processes", place.processes, quick=True, asks=False),
    Step("ports", place.ports, quick=True, asks=False),
    Step("text", questions.text, quick=True),
    Step("image", questions.image, quick=True, pictures=True),
    Step("images", questions.images, pictures=True),
    Step("largest_image", limits.largest_image, heavy=True, pictures=True),
    Step("longest_prompt", limits.longest_prompt, heavy=True),
    Step("memory", place.memory, quick=True, asks=False),
    Step("streaming", streaming.streams, quick=True),
    Step("stop", streaming.stops, heavy=True),
    Step("turns", turns.many),
    Step("new_image", new_picture.looked_at, pictures=True),
    Step("demo_set", demo_set.right),
)


async def verification(
    subject: Subject,
    *,
    quick: bool = False,
    limit_s: float = 300.0,
    disturb: bool = False,
    steps: Sequence[Step] = STEPS,
) -> Lines:
    """Every line. `limit_s` is for one step; `disturb`: heavy steps run although others are being served."""
    away = False
    async with Service(subject.endpoint, limit_s) as service:
        for step in steps:
            if (quick and not step.quick) or (step.name == "demo_set" and not subject.demo):
                continue
            began = time.monotonic()
            check = _pointless(step, subject, away)
            if check is None and step.heavy and not disturb:
                check = await _busy(step, subject, service)
            if check is None:
                check, gone = await _taken(step, subject, service, limit_s)
                away = away or gone
            yield Timed(replace(check, name=step.name), time.monotonic() - began)


def _pointless(step: Step, subject: Subject, away: bool) -> Check | None:
    if away and step.asks:
        return Check(step.name, CheckState.UNKNOWN, tr("verify.away"))
    if step.pictures and subject.takes_pictures is False:
        return Check(step.name, CheckState.OK, tr("verify.text_only"))
    return None


async def _busy(step: Step, subject: Subject, service: Service) -> Check | None:
    """Wait a little for a quiet moment; a line in place of the step where there is none."""
    ends = time.monotonic() + _QUIET_WAIT_S
    while running := await service.running():
        if time.monotonic() > ends:
            target = subject.deployment.name if subject.deployment else f"--url {subject.endpoint.base_url}"
            hint = f"fitserve verify {target} --disturb"
            return Check(step.name, CheckState.UNKNOWN, tr("verify.busy", running=running), "", hint)
        await asyncio.sleep(_LOOK_S)
    return None


async def _taken(step: Step, subject: Subject, service: Service, limit_s: float) -> tuple[Check, bool]:
    """The step's line, and whether the service has gone."""
    doctor = f"fitserve doctor {subject.deployment.name}" if subject.deployment else ""
    try:
        async with asyncio.timeout(limit_s):
            return await step.run(subject, service), False
    except TimeoutError:
        return Check(step.name, CheckState.FAIL, tr("verify.too_slow", seconds=f"{limit_s:g}"), "", doctor), False
    except FitserveError as error:
        if error.code == "endpoint_text_only" and subject.takes_pictures is None:
            return Check(step.name, CheckState.OK, tr("verify.text_only"), error.evidence), False
        away = error.code in _AWAY
        hint = doctor or error.hint
        return Check(step.name, CheckState.FAIL, error.message, error.evidence, hint), away and step.asks
