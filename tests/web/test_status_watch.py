"""Who is asked how often, and who is not asked at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import httpx2
import pytest
from tests.web.owner_case import cards, deployment, metrics, seen, view

from fitserve.chat.endpoint import Endpoint
from fitserve.clock import Clock, ManualClock
from fitserve.observe.gpu_samples import Sample
from fitserve.run.live import State
from fitserve.run.view import View
from fitserve.web.status import Seen, tokens_per_second
from fitserve.web.status_routes import documents, is_quiet, tell
from fitserve.web.status_watch import Watch

PAGE = 'vllm:num_requests_running{{engine="0"}} 3.0\nvllm:generation_tokens_total{{engine="0"}} {tokens}\n'


class RecordedCards:
    """A machine that always shows the same."""

    def sample(self, pids: Sequence[int] = ()) -> Sample:
        return cards()


class Engine:
    """Counts its visitors, and tokens: a hundred for each visit."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.paths.append(request.url.path)
        return httpx2.Response(200, text=PAGE.format(tokens=100 * len(self.paths)))


def watch(engine: Engine, looker: Callable[[str], View | None] | None = None, clock: Clock | None = None) -> Watch:
    transport = httpx2.MockTransport(engine.answer)
    endpoint = Endpoint("http://127.0.0.1:8000", "qwen")
    name, looker = ("shop", looker) if looker else ("", lambda _: None)
    return Watch(endpoint, name, looker=looker, sampler=RecordedCards(), clock=clock, transport=transport)


def test_many_readers_are_one_visitor() -> None:
    engine, clock = Engine(), ManualClock()
    watching = watch(engine, clock=clock)

    async def read() -> float | None:
        await asyncio.gather(*(watching.seen() for _ in range(20)))
        assert engine.paths == ["/metrics"]
        clock.sleep(2.0)
        return tokens_per_second(await watching.seen())

    assert asyncio.run(read()) == 50.0
    assert engine.paths == ["/metrics", "/metrics"]


@pytest.mark.parametrize("state", [State.STARTING, State.FAILED, State.STOPPED])
def test_the_port_of_one_that_does_not_answer_is_left_alone(state: State) -> None:
    engine = Engine()
    seen = asyncio.run(watch(engine, lambda _: view(state)).seen())
    assert engine.paths == []
    assert (seen.answers, seen.view and seen.view.state) == (False, state)


def test_a_broken_file_is_an_address() -> None:
    def broken(_: str) -> None:
        raise ValueError

    seen = asyncio.run(watch(Engine(), broken).seen())
    assert (seen.view, seen.answers, seen.model) == (None, True, "qwen")


def test_nobody_there() -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    transport = httpx2.MockTransport(refuse)
    watching = Watch(Endpoint("http://127.0.0.1:9"), sampler=RecordedCards(), transport=transport)
    told = documents(asyncio.run(watching.seen()))
    assert {language: status["state"] for language, status in told.items()} == {"en": "silent", "zh": "silent"}


def test_somebody_elses_metrics() -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(404, text="vllm:num_requests_running 1.0"))
    seen = asyncio.run(Watch(Endpoint("http://127.0.0.1:9"), transport=transport).seen())
    assert (seen.answers, seen.metrics) == (True, None)


def test_the_served_name_is_the_deployments() -> None:
    seen = asyncio.run(watch(Engine(), lambda _: view(of=deployment())).seen())
    assert (seen.model, seen.metrics and seen.metrics.values["running"]) == ("qwen", 3.0)


class Tabs:
    """Two open tabs that remember what they were told."""

    def __init__(self) -> None:
        self.told: list[dict[str, dict[str, object]]] = []

    def __len__(self) -> int:
        return 2

    def status_changed(self, statuses: dict[str, dict[str, object]]) -> None:
        self.told.append(statuses)


def test_the_tabs_are_told_and_a_look_that_fails_is_not_the_last() -> None:
    looks = iter([ZeroDivisionError, None, None])

    def breaks_once(_: str) -> View | None:
        if fault := next(looks, None):
            raise fault
        return view(State.STARTING)

    async def listen() -> Tabs:
        tabs, clock = Tabs(), ManualClock()
        telling = asyncio.create_task(tell(watch(Engine(), breaks_once, clock), tabs, busy_s=0.01))
        while len(tabs.told) < 2:
            clock.sleep(1.0)
            await asyncio.sleep(0.01)
        telling.cancel()
        return tabs

    told = asyncio.run(listen()).told
    assert [(one["en"]["state"], one["zh"]["state_text"]) for one in told[:2]] == [("starting", "启动中")] * 2


@pytest.mark.parametrize(
    ("one", "quiet"),
    [
        (seen(metrics=metrics(running=0.0, waiting=0.0)), True),
        (seen(metrics=metrics(running=1.0)), False),
        (seen(metrics=metrics(waiting=1.0)), False),
        (seen(answers=False), False),
    ],
)
def test_a_busy_engine_is_looked_at_more_often(one: Seen, quiet: bool) -> None:
    assert is_quiet(one) is quiet
