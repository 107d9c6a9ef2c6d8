"""What is left of a start, from recorded ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.observe.usual import Usual, usual
from fitserve.run.deployment import Deployment, records_dir
from fitserve.run.live import StageTime
from fitserve.stage import Stage

QUICK = {Stage.CONFIG: 0.0, Stage.LOAD: 4.0, Stage.SERVE: 20.0, Stage.ANSWERING: 22.0}
SLOW = {Stage.CONFIG: 0.0, Stage.LOAD: 6.0, Stage.SERVE: 30.0, Stage.ANSWERING: 32.0}


def record(number: int, stages: dict[Stage, float], settings: dict[str, object], engine: str = "vllm 0.33.0") -> None:
    rows = [{"at": 1.0, "event": "engine_started", "engine": engine, "plan": {"settings": settings}}]
    rows += [{"at": 1.0, "event": "stage", "stage": stage, "at_s": at} for stage, at in stages.items()]
    folder = records_dir("one")
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{number:03}.jsonl").write_text(text + '{"event": "stage", "sta')  # a runner died in the middle


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Deployment("one", "/m", "one", "127.0.0.1", 8000, (), {}, "vllm 0.33.0", {"settings": {"tp": 2}})


def test_only_starts_of_this_plan_that_answered_count(deployment: Deployment) -> None:
    record(1, QUICK, {"tp": 2})
    record(2, SLOW, {"tp": 1})
    record(3, SLOW, {"tp": 2}, engine="vllm 0.30.0")
    record(4, {Stage.CONFIG: 0.0, Stage.LOAD: 1.0}, {"tp": 2})
    (records_dir("one") / "005.jsonl").write_text('{"event": "stage", "stage": "lunch", "at_s": "late"}\n[]\n')
    assert usual(deployment).starts == (QUICK,)


def test_the_youngest_starts_count(deployment: Deployment) -> None:
    for number in range(9):
        record(number, QUICK if number < 5 else SLOW, {"tp": 2})
    assert usual(deployment).starts == (SLOW, SLOW, SLOW, SLOW, QUICK)


def test_what_is_left() -> None:
    seen = Usual((QUICK, SLOW, SLOW))
    loading = (StageTime(Stage.CONFIG, 0.0), StageTime(Stage.LOAD, 5.0))
    assert seen.left_s(loading, 5.0) == 26.0
    assert seen.left_s(loading, 15.0) == 16.0
    assert seen.left_s(loading, 500.0) == 0.0
    assert seen.seconds(Stage.LOAD) == 24.0
    assert (seen.seconds(Stage.WARMUP), seen.seconds(Stage.ANSWERING)) == (None, None)


def test_nothing_is_guessed_without_records() -> None:
    assert Usual(()).left_s((StageTime(Stage.LOAD, 1.0),), 2.0) is None
    assert Usual((QUICK,)).left_s((), 2.0) is None
    assert Usual((QUICK,)).left_s((StageTime(Stage.WARMUP, 1.0),), 2.0) is None


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=5), st.floats(0, 2000), st.floats(0, 100))
def test_the_longer_it_takes_the_less_is_left(totals: list[float], elapsed: float, more: float) -> None:
    seen = Usual(tuple({Stage.LOAD: 0.5, Stage.ANSWERING: total} for total in totals))
    begun = (StageTime(Stage.LOAD, 0.5),)
    first, later = seen.left_s(begun, elapsed), seen.left_s(begun, elapsed + more)
    assert first is not None
    assert later is not None
    assert first >= later >= 0
