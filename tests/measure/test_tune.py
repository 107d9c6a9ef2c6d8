"""A search over stub services: the best is proved with fresh starts, the budget is kept, luck is not offered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_compare import LOAD, Silent, StubService

from fitserve.cli.tune import up_command
from fitserve.cli.tune_apply import apply_setting, taken_back
from fitserve.errors import NotFound
from fitserve.measure.compare import Comparing, Plan, Running, Trial
from fitserve.measure.tune import Budget, Situation, Tuned, Tuning, candidates
from fitserve.measure.verdict import Call
from fitserve.observe.gpu_memory import NoGpuMemory
from fitserve.run.deployment import Deployment
from fitserve.run.registry import load, save


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TimedService(StubService):
    """Each start takes a minute of the budget's clock."""

    def __init__(self, speeds: dict[str, float], clock: Clock, seed: int = 1) -> None:
        super().__init__(speeds, seed)
        self.clock = clock

    def start(self, setting: str) -> Running:
        self.clock.now += 60
        return super().start(setting)


def tuned(speeds: dict[str, float], minutes: float, broken: tuple[str, ...] = ()) -> tuple[Tuned, TimedService]:
    clock = Clock()
    service = TimedService(speeds, clock)
    service.broken = set(broken)
    heard: list[Trial] = []

    def make(plan: Plan) -> Comparing:
        return Comparing(plan, service, NoGpuMemory(), lambda _s, _n: Silent(), service.run)

    tuning = Tuning(service, NoGpuMemory(), lambda _s, _n: Silent(), heard.append, make)
    budget = Budget(minutes * 60, clock, 0.0)
    found = tuning.run(Plan(tuple(speeds), 4, questions=1, load=LOAD), budget)
    assert clock.now <= max(minutes, 1) * 60
    assert len(heard) == len(found.looked) + len(found.proof)
    return found, service


def test_the_best_is_proved_with_fresh_starts_and_offered() -> None:
    found, service = tuned({"as-is": 1.0, "b": 0.9, "c": 1.4}, minutes=20)
    assert (found.winner, found.offered, found.not_looked) == ("c", "c", ())
    assert [trial.setting for trial in found.looked] == ["as-is", "b", "c"]
    assert [trial.setting for trial in found.proof] == ["as-is", "c", "c", "as-is"] * 2
    assert found.verdict is not None and found.verdict.call is Call.BETTER
    assert service.log[-1] == "stop"


def test_nothing_better_ends_it() -> None:
    found, _ = tuned({"as-is": 1.0, "b": 0.8, "c": 0.7}, minutes=20)
    assert (found.winner, found.offered, found.proof) == (None, None, ())


def test_luck_at_first_sight_is_not_offered() -> None:
    found, _ = tuned({"as-is": 1.0, "b": 1.0}, minutes=12)
    assert found.offered is None


def test_the_budget_is_kept() -> None:
    found, _ = tuned({"as-is": 1.0, "b": 1.5, "c": 2.0, "d": 2.5, "e": 3.0}, minutes=6)
    assert [trial.setting for trial in found.looked] == ["as-is", "b", "c"]
    assert (found.winner, found.offered, found.not_looked) == ("c", None, ("d", "e"))
    assert found.proof == () and found.verdict is None


def test_what_does_not_start_is_passed_over() -> None:
    found, _ = tuned({"as-is": 1.0, "b": 9.0, "c": 1.5}, minutes=20, broken=("b",))
    assert found.offered == "c"


def test_a_short_list_that_differs_in_one_thing() -> None:
    now = Situation(eager=False, tensor_parallel_size=2, max_num_seqs=256, max_num_batched_tokens=2048, cards=4)
    assert candidates(now) == (
        "eager", "tp=1", "tp=4", "seqs=512", "seqs=64", "batched=4096", "batched=1024", "capture=64", "kv-dtype=fp8",
    )  # fmt: skip
    assert candidates(Situation(True, 1, 4, 1024, 0)) == ("graphs", "seqs=8", "seqs=1", "batched=2048")


def test_the_command_to_type() -> None:
    assert up_command("demo", "graphs,seqs=64") == "fitserve up demo --execution graphs --max-num-seqs 64"
    assert up_command("demo", "prefix-caching=false") == "fitserve up demo --no-enable-prefix-caching"


def test_it_is_written_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    values = {"enforce_eager": True, "max_num_seqs": 4}
    wishes = {"model": "demo", "typed": dict(values), "values": dict(values), "page": True}
    before = Deployment("mine", "/m", "mine", "127.0.0.1", 8000, ("python",), {}, "vllm 0.32.0", wishes=wishes)
    save(before)
    assert apply_setting("mine", "graphs")
    assert apply_setting("mine", "seqs=8")
    after = load("mine")
    assert after is not None
    assert after.wishes["typed"] == after.wishes["values"] == {"execution": "graphs", "max_num_seqs": 8}
    taken_back("mine")
    assert load("mine") == before
    with pytest.raises(NotFound):
        taken_back("mine")
    assert not apply_setting("other", "graphs")
    assert json.dumps(wishes)
