"""A comparison over stub services on virtual time: order, pairing, answers, failures, what is kept."""

from __future__ import annotations

import math
import socket
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from sse_server import Endpoint as Stub
from sse_server import Programme
from virtual_time import run_virtually

from fitserve.chat.endpoint import Endpoint
from fitserve.errors import FitserveError, Interrupted, OperationFailed, ToolMissing
from fitserve.measure.bench import Spec
from fitserve.measure.compare import Comparing, Plan, Running, Trial, compare_answers, stage_memory
from fitserve.measure.load import Pace
from fitserve.measure.memory import MemoryWatch
from fitserve.measure.sample import Sample
from fitserve.measure.verdict import Call, verdicts
from fitserve.measure.workload import Workload
from fitserve.observe.gpu_memory import NoGpuMemory

LOAD = Spec(Workload(conversations=10, pictures=1, sizes=((64, 64),), output_tokens=6), Pace(users=2), warmup=2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Silent:
    def begins(self, part: str, requests: int) -> None:
        pass

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:
        pass


class StubService:
    """Settings are speeds; each start has its luck, each request its noise."""

    def __init__(self, speeds: dict[str, float], seed: int = 1, texts: dict[str, str] | None = None) -> None:
        self.speeds, self.rng, self.texts = speeds, Random(seed), texts or {}
        self.log: list[str] = []
        self.broken: set[str] = set()
        self.trouble: FitserveError = OperationFailed("no memory", evidence="CUDA out of memory")
        self.port = free_port()
        self.stub = Stub()

    def start(self, setting: str) -> Running:
        self.log.append(f"start {setting}")
        if setting in self.broken:
            raise self.trouble
        slow = math.exp(self.rng.gauss(0, 0.01)) / self.speeds[setting]
        noise = Random(self.rng.random())
        text = self.texts.get(setting, "word ")

        def programme(_number: int, _body: dict) -> Programme:
            return Programme(0.03 * slow * math.exp(noise.gauss(0, 0.1)), 0.01 * slow, tokens=4, text=text)

        self.stub = Stub(programme)
        return Running(
            Endpoint(f"http://127.0.0.1:{self.port}", "stub"), 60 * slow, (("load", 0.0), ("answering", 50.0))
        )

    def stop(self) -> None:
        self.log.append("stop")

    def run(self, measuring: Coroutine[Any, Any, Trial]) -> Trial:
        async def served() -> Trial:
            async with await self.stub.serve(self.port):
                return await measuring

        return run_virtually(served())


def compared(service: StubService, settings: tuple[str, ...], rounds: int = 3) -> tuple[Comparing, Plan]:
    plan = Plan(settings, rounds, questions=3, load=LOAD)
    comparing = Comparing(plan, service, NoGpuMemory(), lambda _setting, _round: Silent(), service.run)
    comparing.run(lambda _trial: None)
    return comparing, plan


def calls(comparing: Comparing, plan: Plan) -> dict[str, Call]:
    return {verdict.figure: verdict.call for verdict in verdicts(comparing.rounds(), plan.settings)}


def test_a_tenth_is_called_and_a_null_is_not() -> None:
    found = calls(*compared(StubService({"a": 1.0, "b": 1.1}, seed=3), ("a", "b"), rounds=5))
    assert (found["output_tokens_s"], found["time_per_token_s"]) == (Call.BETTER, Call.BETTER)
    null = calls(*compared(StubService({"a": 1.0, "b": 1.0}, seed=4), ("a", "b"), rounds=5))
    assert not {Call.BETTER, Call.WORSE} & set(null.values())


def test_each_round_begins_with_another_setting_and_each_start_is_from_clean() -> None:
    service = StubService({"a": 1.0, "b": 1.0, "c": 1.0})
    comparing, _ = compared(service, ("a", "b", "c"))
    assert [trial.setting for trial in comparing.trials] == list("abcbcacab")
    assert service.log == [word for trial in comparing.trials for word in (f"start {trial.setting}", "stop")]


def test_the_work_is_the_same_in_a_round_and_another_in_the_next() -> None:
    service, seen = StubService({"a": 1.0, "b": 1.0}), []
    plan = Plan(("a", "b"), 2, questions=3, load=LOAD)

    def run(measuring: Coroutine[Any, Any, Trial]) -> Trial:
        trial = service.run(measuring)
        seen.append([str(request["messages"]) for request in service.stub.seen])
        return trial

    Comparing(plan, service, NoGpuMemory(), lambda _s, _n: Silent(), run).run(lambda _trial: None)
    asked = [sorted(requests) for requests in seen]
    assert asked[0] == asked[1] != asked[2] == asked[3]
    assert seen[0][:3] == seen[2][:3]  # the common questions stay


def test_the_first_start_is_kept_apart() -> None:
    comparing, _ = compared(StubService({"a": 1.0, "b": 1.0}), ("a", "b"))
    figures = [one.figures for one in comparing.rounds() if one.setting == "a"]
    assert ["first_start_s" in one for one in figures] == [True, False, False]
    assert ["start_s" in one for one in figures] == [False, True, True]


def test_answers_are_compared_with_the_first_of_the_base() -> None:
    comparing, plan = compared(StubService({"a": 1.0, "b": 1.0}, texts={"b": "other "}), ("a", "b"))
    same, other = compare_answers(comparing.trials, plan, plan.asking().work)
    assert (same.setting, same.same, same.count, same.differs) == ("a", 6, 6, None)
    assert (other.same, other.count) == (0, 9)
    assert other.differs is not None and other.differs[1:] == ("word " * 4, "other " * 4)


def test_a_setting_that_does_not_start_is_not_tried_again() -> None:
    service = StubService({"a": 1.0, "b": 1.0})
    service.broken = {"b"}
    comparing, plan = compared(service, ("a", "b"))
    assert [trial.setting for trial in comparing.trials] == ["a", "b", "a", "a"]
    assert set(calls(comparing, plan).values()) == {Call.UNDECIDED}


def test_without_an_engine_no_second_setting_is_tried() -> None:
    service = StubService({"a": 1.0, "b": 1.0})
    service.broken, service.trouble = {"a"}, ToolMissing("no engine")
    comparing, _ = compared(service, ("a", "b"))
    assert [trial.setting for trial in comparing.trials] == ["a"]


def test_an_interrupt_stops_the_service_and_keeps_what_is_done() -> None:
    service = StubService({"a": 1.0, "b": 1.0})
    plan = Plan(("a", "b"), 3, questions=2, load=LOAD)
    comparing = Comparing(plan, service, NoGpuMemory(), lambda _s, _n: Silent(), service.run)

    def interrupt(trial: Trial) -> None:
        if trial.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        comparing.run(interrupt)
    assert len(comparing.trials) == 3
    assert service.log[-1] == "stop"


def test_an_interrupted_start_is_no_failed_setting() -> None:
    service = StubService({"a": 1.0, "b": 1.0})

    def start(_setting: str) -> Running:
        raise Interrupted("stopped")

    service.start = start  # type: ignore[method-assign]  # a start that a person stops
    with pytest.raises(Interrupted):
        compared(service, ("a", "b"))
    assert service.log == ["stop"]


def test_a_budget_ends_it_between_rounds() -> None:
    service = StubService({"a": 1.0, "b": 1.0})
    comparing = Comparing(
        Plan(("a", "b"), 9, questions=1, load=LOAD), service, NoGpuMemory(), lambda _s, _n: Silent(), service.run
    )
    comparing.run(lambda _trial: None, lambda number: number < 1)
    assert len(comparing.trials) == 2


def test_memory_by_stage() -> None:
    watch = MemoryWatch(NoGpuMemory())
    watch.samples = [(100.0 + second, (second * 10,)) for second in range(11)]
    running = Running(Endpoint("http://x", "m"), 10.0, (("config", 0.0), ("load", 3.0), ("answering", 10.0)))
    assert stage_memory(watch, running) == {"config": (20,), "load": (90,), "answering": (100,)}
