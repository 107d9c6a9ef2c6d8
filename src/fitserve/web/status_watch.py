"""Looks at the engine behind a page: once for all readers, and never more often than is of use to anybody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from fitserve.chat.endpoint import Endpoint
from fitserve.chat.models import served_models
from fitserve.chat.said import Problem
from fitserve.clock import Clock, SystemClock
from fitserve.observe.gpu_samples import NvmlSampler, Sample, Sampler
from fitserve.observe.metrics import Metrics, read_metrics
from fitserve.run.live import State
from fitserve.run.processes import memory_bytes
from fitserve.run.view import View, look
from fitserve.web.status import Seen, on_processor

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

_FRESH_S = 0.9  # readers that ask within this time are told the same
_ANSWER_S = 3.0
_TALKING = (State.ANSWERING, State.HUNG)


class Watch:
    """The looks at one endpoint. `name` is empty where it is no deployment of ours."""

    def __init__(
        self,
        endpoint: Endpoint,
        name: str = "",
        *,
        looker: Callable[[str], View | None] = look,
        sampler: Sampler | None = None,
        clock: Clock | None = None,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        self.endpoint, self.name = endpoint, name
        self._look_up = looker
        self._sampler, self._clock, self._transport = sampler or NvmlSampler(), clock or SystemClock(), transport
        self._looking = asyncio.Lock()
        self._last: Seen | None = None
        self._served = ""
        self._looked_at = 0.0  # monotonic

    async def seen(self) -> Seen:
        """The present look, or one that is less than a second old."""
        async with self._looking:
            now = self._clock.monotonic()
            if self._last is None or now - self._looked_at >= _FRESH_S:
                self._last, self._looked_at = await self._look(now - self._looked_at), now
            return self._last

    async def _look(self, apart_s: float) -> Seen:
        view, sample, size = await asyncio.to_thread(self._local)
        silent = view is not None and view.state not in _TALKING  # its port may long be somebody else's
        answers, metrics = (False, None) if silent else await self._asked()
        return Seen(
            at=self._clock.now(),
            url=self.endpoint.base_url,
            model=view.deployment.served_model_name if view else await self._model(answers),
            answers=answers,
            view=view,
            sample=sample,
            memory_bytes=size,
            metrics=metrics,
            before=self._last.metrics if self._last else None,
            apart_s=apart_s,
        )

    async def _model(self, answers: bool) -> str:
        """What a bare address serves, asked once while it answers; empty where nobody told."""
        if not answers:
            self._served = ""
        elif not (self.endpoint.model or self._served):
            with contextlib.suppress(Problem):
                self._served = (await served_models(self.endpoint, self._transport))[0].name
        return self.endpoint.model or self._served

    def _local(self) -> tuple[View | None, Sample | None, int | None]:
        """What this machine itself shows of a deployment: its state, the cards, the processes' memory."""
        try:
            view = self._look_up(self.name) if self.name else None
        except (OSError, ValueError):  # its file is broken: then it is an address like any other
            view = None
        return (view, self._sampler.sample(), _memory(view)) if view else (None, None, None)

    async def _asked(self) -> tuple[bool, Metrics | None]:
        """Whether somebody answers there, and what its counters say."""
        import httpx2

        try:
            async with asyncio.timeout(_ANSWER_S), self.endpoint.client(self._transport) as client:
                reply = await client.get("/metrics")
                return True, read_metrics(reply.text) if reply.status_code == 200 else None
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL):
            return False, None


def _memory(view: View) -> int | None:
    """What an engine on the processor takes; None on a GPU, whose memory the cards show."""
    if view.live is None or not on_processor(view):
        return None
    known = [one.pid for one in (*view.live.members, *([view.live.engine] if view.live.engine else []))]
    sizes = [size for pid in sorted(set(known)) if (size := memory_bytes(pid)) is not None]
    return sum(sizes) if sizes else None
