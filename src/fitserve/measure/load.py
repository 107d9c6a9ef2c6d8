"""The load generator: a closed loop with N users, or an open loop at a Poisson rate, on one core.

The loop only sends, stamps and keeps; a single reader makes samples of what came, a little at a time, so that no
stream waits for the parsing of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from fitserve.chat.endpoint import Endpoint
from fitserve.chat.refusal import broken_off, from_status, in_stream, not_a_stream
from fitserve.chat.said import NoAnswer
from fitserve.measure.lag import LagWatch
from fitserve.measure.quiet import quiet
from fitserve.measure.replies import NotAReply, Reply, read
from fitserve.measure.sample import Sample
from fitserve.measure.wire import Address, Exchange, exchange
from fitserve.measure.workload import Ask, Script

_APART_S = 0.0002
_BITE = 40  # events read before the loop is looked after again: about 0.1 ms


@dataclass(frozen=True)
class Pace:
    """`users` in flight, each asking as soon as it is answered; or `rate` conversations a second at random moments."""

    users: int | None = None
    rate: float | None = None

    def arrivals(self, count: int, seed: int) -> list[float]:
        """Seconds at which an open loop's conversations begin."""
        rng, now, due = Random(f"fitserve arrivals {seed}"), 0.0, []
        for _ in range(count):
            now += rng.expovariate(self.rate or 1.0)
            due.append(now)
        return due


@dataclass(frozen=True)
class Asking:
    """How each question is put."""

    endpoint: Endpoint
    output_tokens: int | None = None  # exactly so many
    max_tokens: int = 256
    limit_s: float = 600.0
    extra: tuple[tuple[str, object], ...] = ()  # more of the request's body, by key

    def body(self, messages: Sequence[bytes]) -> tuple[bytes, ...]:
        """A streamed chat completion around messages that are JSON already."""
        import msgspec

        request: dict[str, object] = {
            "model": self.endpoint.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            "max_tokens": self.output_tokens or self.max_tokens,
            **dict(self.extra),
        }
        if self.output_tokens is not None:
            request["ignore_eos"] = True
        head = msgspec.json.encode(request)[:-1] + b',"messages":['
        return (head, b",".join(messages), b"]}")


@dataclass(frozen=True)
class Ran:
    """What a load left. `unfinished` were in flight or not yet asked when it was stopped."""

    samples: tuple[Sample, ...]
    lag_s: float
    seconds: float
    unfinished: int


class Load:
    """One load on one endpoint. `tell` hears of every sample as soon as it is read."""

    def __init__(self, asking: Asking, pace: Pace, tell: Callable[[Sample], None] = lambda _sample: None) -> None:
        self._asking, self._pace, self._tell = asking, pace, tell
        self._address = Address.of(asking.endpoint.base_url, asking.endpoint.api_key)
        self._samples: list[Sample] = []
        self._unread: asyncio.Queue[tuple[_Sent, asyncio.Future[Sample]]] = asyncio.Queue()
        self.began = 0.0
        self._free = 0.0  # when the next question may be sent
        self.in_flight = 0

    async def run(self, work: Sequence[Script], stop: asyncio.Event, seed: int = 0) -> Ran:
        """Until all is asked or `stop` is set; what was done by then is kept."""
        lag = LagWatch()
        with quiet():
            loop = asyncio.get_running_loop()
            self.began = loop.time()
            watching = asyncio.create_task(lag.watch())
            reading = asyncio.create_task(self._read_all())
            asking = asyncio.create_task(self._ask_all(work, seed))
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([asking, stopping], return_when=asyncio.FIRST_COMPLETED)
                seconds = loop.time() - self.began
                await _cancelled(watching)
                await _cancelled(asking)
                await self._all_read(reading)
            finally:
                for task in (watching, asking, stopping, reading):
                    await _cancelled(task)
        expected = sum(len(script.asks) for script in work)
        return Ran(tuple(self._samples), lag.worst_s(), seconds, expected - len(self._samples))

    async def _ask_all(self, work: Sequence[Script], seed: int) -> None:
        async with asyncio.TaskGroup() as group:
            if self._pace.rate is not None:
                for script, due_s in zip(work, self._pace.arrivals(len(work), seed), strict=True):
                    group.create_task(self._converse(script, due_s))
            else:
                rest = iter(work)
                for _ in range(min(self._pace.users or 1, len(work))):
                    group.create_task(self._user(rest))

    async def _user(self, rest: Iterator[Script]) -> None:
        for script in rest:  # shared by all users: who is free takes the next
            await self._converse(script, None)

    async def _converse(self, script: Script, due_s: float | None) -> None:
        if due_s is not None:
            await asyncio.sleep(self.began + due_s - asyncio.get_running_loop().time())
        messages: list[bytes] = []
        for turn, ask in enumerate(script.asks):
            messages.append(ask.message)
            read = await self._ask(script, turn, ask, messages, due_s if turn == 0 else None)
            if turn + 1 < len(script.asks):
                sample = await read
                if not sample.ok:
                    return
                messages.append(_said(sample.answer))

    async def _ask(
        self, script: Script, turn: int, ask: Ask, messages: list[bytes], due_s: float | None
    ) -> asyncio.Future[Sample]:
        """Send one question and wait for its last byte; the future has the sample once it is read."""
        loop = asyncio.get_running_loop()
        await self._own_moment(loop.time())
        body, begun = self._asking.body(messages), loop.time()
        came: Exchange | Exception
        self.in_flight += 1
        try:
            came = await exchange(self._address, "POST", "/v1/chat/completions", body, self._asking.limit_s)
        except (OSError, TimeoutError) as error:
            came = error
        finally:
            self.in_flight -= 1
        sent = _Sent(script.index, turn, ask, begun if due_s is None else self.began + due_s, begun, loop.time(), came)
        future: asyncio.Future[Sample] = loop.create_future()
        self._unread.put_nowait((sent, future))
        return future

    async def _own_moment(self, now: float) -> None:
        """A batch ends as one: 64 users who connect in the same turn of the loop would hold it up for 15 ms."""
        moment = max(now, self._free)
        self._free = moment + _APART_S
        if moment > now:
            await asyncio.sleep(moment - now)

    async def _read_all(self) -> None:
        while True:
            sent, future = await self._unread.get()
            sample = await self._sample(sent)
            self._samples.append(sample)
            if not future.cancelled():
                future.set_result(sample)
            self._tell(sample)
            self._unread.task_done()

    async def _all_read(self, reading: asyncio.Task[None]) -> None:
        """Until the reader is through, or has failed: its failure is raised when it is collected."""
        done = asyncio.create_task(self._unread.join())
        await asyncio.wait([done, reading], return_when=asyncio.FIRST_COMPLETED)
        await _cancelled(done)

    async def _sample(self, sent: _Sent) -> Sample:
        """What came, read in small bites."""
        if isinstance(sent.came, Exception):
            return sent.failed(self.began, _kind(sent.came), str(sent.came) or type(sent.came).__name__)
        reply: Reply | None = None
        try:
            for count, reply in enumerate(read(sent.came)):  # noqa: B007 - the last one is the reply
                if count % _BITE == _BITE - 1:
                    await asyncio.sleep(0)
        except NotAReply as error:
            answer = refusal(error, self._asking.endpoint)
            return sent.failed(self.began, answer.code, answer.evidence)
        assert reply is not None, "read() ends with a reply or raises"
        return sent.answered(self.began, sent.came, reply)


@dataclass(frozen=True)
class _Sent:
    """A question on its way to be a sample; times are the loop's."""

    conversation: int
    turn: int
    ask: Ask
    due: float
    begun: float
    ended: float
    came: Exchange | Exception

    def failed(self, began: float, kind: str, evidence: str) -> Sample:
        sent = self.came.sent_s if isinstance(self.came, Exchange) else self.begun
        return Sample(
            self.conversation, self.turn, self.due - began, sent - began, 0.0, self.ended - began,
            pictures=len(self.ask.sizes), error=kind, evidence=evidence,
        )  # fmt: skip

    def answered(self, began: float, came: Exchange, reply: Reply) -> Sample:
        return Sample(
            self.conversation, self.turn, self.due - began, came.sent_s - began, came.connect_s, came.ended_s - began,
            times_s=tuple(time_s - began for time_s in reply.times_s),
            pictures=len(self.ask.sizes),
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            image_tokens=reply.image_tokens,
            cached_tokens=reply.cached_tokens,
            finish_reason=reply.finish_reason,
            answer=reply.text,
        )  # fmt: skip


def refusal(error: NotAReply, endpoint: Endpoint) -> NoAnswer:
    """The same sentence and code that a chat would give."""
    if error.status is not None:
        return from_status(error.status, error.text, endpoint)
    if error.in_stream:
        import json

        return in_stream(json.loads(error.text)["error"], endpoint)
    return broken_off(endpoint, error.text) if error.broken else not_a_stream(endpoint, error.text)


def _kind(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "slow_total"
    return "endpoint_broken_off" if isinstance(error, ConnectionResetError) else "endpoint_unreachable"


def _said(answer: str) -> bytes:
    import msgspec

    return msgspec.json.encode({"role": "assistant", "content": answer})


async def _cancelled(task: asyncio.Task[object]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
