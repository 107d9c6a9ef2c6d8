"""Answers in pieces, and hanging up in the middle of one: the engine has to stop working on it."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

from fitserve.chat.answer import Finish, TextDelta, ThinkingDelta
from fitserve.chat.said import NoAnswer
from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify.service import Service
from fitserve.verify.subject import Subject

_LONGEST = 2048  # tokens of an answer that is to be cut
_FREED_S, _LOOK_S = 5.0, 0.1


async def streams(subject: Subject, service: Service) -> Check:  # noqa: ARG001 - one shape for all steps
    """Several pieces, the first soon, and an end."""
    began, first, pieces, finish = time.monotonic(), None, 0, ""
    async with aclosing(service.stream(tr("verify.ask_long"), 32)) as stream:
        async for event in stream:
            if isinstance(event, TextDelta | ThinkingDelta):
                first = first or time.monotonic() - began
                pieces += 1
            elif isinstance(event, Finish):
                finish = event.reason
    if first is None:
        return Check("", CheckState.FAIL, tr("verify.empty_answer"), f"finish_reason={finish or 'none'}")
    state = CheckState.OK if pieces > 1 else CheckState.WARN
    key = "verify.streams" if pieces > 1 else "verify.one_piece"
    return Check("", state, tr(key, pieces=pieces, seconds=f"{first:.2f}"))


async def stops(subject: Subject, service: Service) -> Check:
    """Hang up after the first piece of a long answer, and watch the slot come free in the engine's own count."""
    before = await service.running()
    if before is None:
        return Check("", CheckState.UNKNOWN, tr("verify.no_metrics"))
    during = await _cut(service)
    if during is None or during <= before:
        return Check("", CheckState.UNKNOWN, tr("verify.stop_unseen"))
    seconds = await _freed(service, before)
    if seconds is None:
        hint = f"fitserve logs {subject.deployment.name}" if subject.deployment else ""
        running = f"num_requests_running {await service.running()}"
        return Check("", CheckState.FAIL, tr("verify.slot_kept", seconds=f"{_FREED_S:g}"), running, hint)
    return Check("", CheckState.OK, tr("verify.slot_freed", seconds=f"{seconds:.2f}"))


async def _cut(service: Service) -> int | None:
    """Requests in work while ours was; then it is hung up. A server that knows no ignore_eos is asked without."""
    tries: tuple[dict[str, object], ...] = ({"ignore_eos": True}, {})
    for more in tries:
        try:
            async with aclosing(service.stream(tr("verify.ask_long"), _LONGEST, more)) as stream:
                async for event in stream:
                    if isinstance(event, TextDelta | ThinkingDelta):
                        return await service.running()
                    if isinstance(event, Finish):
                        return None
        except NoAnswer as error:
            if error.code != "endpoint_refused" or not more:
                raise
    return None


async def _freed(service: Service, before: int) -> float | None:
    """Seconds until no more run than before; None where it takes too long."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < _FREED_S:
        running = await service.running()
        if running is not None and running <= before:
            return passed
        await asyncio.sleep(_LOOK_S)
    return None
