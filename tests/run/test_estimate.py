"""What is left of a start, from earlier starts of the same plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fitserve.clock import ManualClock
from fitserve.observe.past_starts import RecordedStarts
from fitserve.observe.record import RunRecord, close_record, latest_record, new_record, read_record
from fitserve.run.deployment import Deployment, records_dir
from fitserve.run.estimate import elapsed, seconds_left
from fitserve.run.live import Live, StageTime, State
from fitserve.run.processes import Identity, look_up
from fitserve.stage import Stage

ONE = Deployment("one", "/m", "one", "127.0.0.1", 8000, ("python", "--port", "8000"), {}, "vllm 1")
PAST = (
    StageTime(Stage.CONFIG, 0.0),
    StageTime(Stage.LOAD, 10.0),
    StageTime(Stage.PROFILE, 40.0),
    StageTime(Stage.ANSWERING, 100.0),
)
LOADING = Live("one", State.STARTING, stages=(StageTime(Stage.LOAD, 12.0),), expected=PAST)


def test_what_is_left_of_the_stage_and_of_those_after_it() -> None:
    assert seconds_left(LOADING, 12.0) == 90.0
    assert seconds_left(LOADING, 22.0) == 80.0
    assert seconds_left(LOADING, 500.0) == 60.0  # it drags on: profiling and the rest are still to come
    answering = replace(LOADING, stages=(*LOADING.stages, StageTime(Stage.ANSWERING, 99.0)))
    assert seconds_left(answering, 120.0) == 0.0


def test_what_is_not_known_is_not_guessed() -> None:
    assert seconds_left(replace(LOADING, expected=()), 5.0) is None
    assert seconds_left(replace(LOADING, stages=(StageTime(Stage.DOWNLOAD, 1.0),)), 5.0) is None  # never met before
    assert seconds_left(LOADING) is None  # no engine: nothing to count from


@given(st.floats(0, 1e4))
def test_it_never_runs_out_before_the_last_stage(now_s: float) -> None:
    assert (seconds_left(LOADING, now_s) or 0.0) >= 60.0


def test_elapsed_is_counted_by_the_kernel() -> None:
    process = look_up(1)
    assert process
    assert (elapsed(replace(LOADING, engine=process.identity)) or 0.0) > 1.0
    assert elapsed(replace(LOADING, engine=Identity(1, 0, ""))) is None


def ran(clock: ManualClock, seconds: float, *, key: str = ONE.plan_key, answers: bool = True) -> RunRecord:
    clock.sleep(1)
    record = RunRecord(records_dir("one") / f"{clock.now():05.0f}.jsonl", clock)
    record.write("engine_started", plan_key=key)
    record.write("stage", stage="config", at_s=0.0)
    record.write("stage", stage="load", at_s=seconds / 2)
    if answers:
        record.write("stage", stage="answering", at_s=seconds)
    record.close()
    return record


def test_the_last_starts_of_this_plan_that_answered(home: Path) -> None:
    clock = ManualClock()
    assert RecordedStarts().expected(ONE) == ()
    for seconds in (900.0, 10.0, 12.0, 20.0):
        ran(clock, seconds)
    ran(clock, 500.0, key="another")
    ran(clock, 700.0, answers=False)
    expected = RecordedStarts().expected(ONE)
    assert [(moment.stage.value, moment.at_s) for moment in expected] == [
        ("config", 0.0), ("load", 6.0), ("answering", 12.0),
    ]  # fmt: skip


def test_the_port_is_no_part_of_the_plan() -> None:
    assert replace(ONE, port=9000, argv=("python", "--port", "9000")).plan_key == ONE.plan_key
    assert replace(ONE, argv=(*ONE.argv, "--enforce-eager")).plan_key != ONE.plan_key
    assert replace(ONE, env={"VLLM_CPU_KVCACHE_SPACE": "1"}).plan_key != ONE.plan_key


def test_half_a_line_goes_and_a_killed_runners_record_gets_its_end(home: Path) -> None:
    clock = ManualClock()
    record = ran(clock, 10.0)
    with record.path.open("a") as file:
        file.write('{"at": 3, "event": "pro')
    new_record("one", clock).write("engine_started", plan_key=ONE.plan_key)
    rows = list(read_record(record.path))
    assert rows[-1]["event"] == "ended"
    assert rows[-1]["reason"] == "runner_died"
    assert all(line.endswith("}") for line in record.path.read_text().splitlines())


def test_a_record_that_has_its_end_is_left_alone(home: Path) -> None:
    clock = ManualClock()
    record = ran(clock, 10.0)
    for _ in range(2):
        close_record("one", clock)
    rows = [row["event"] for row in read_record(record.path)]
    assert rows.count("ended") == 1
    assert latest_record("one") == record.path
    close_record("nobody", clock)


def test_the_next_record_sorts_behind_the_last_whatever_the_clock_says(home: Path) -> None:
    names = []
    for now in (2e9, 1e9, 1e9):
        record = new_record("one", ManualClock(now))
        record.write("ended")
        record.close()
        names.append(record.path.name)
    assert names == sorted(names)
    assert len(set(names)) == 3
    assert latest_record("one") == record.path
