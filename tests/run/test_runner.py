"""The runner with real processes: what it does when all is well, and what it does about each way to die."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.run.conftest import QUICK, Runner, events, marked

from fitserve.run.deployment import Deployment, deployment_dir, engine_log
from fitserve.run.exits import Exit
from fitserve.run.live import read_live
from fitserve.run.ports import is_free
from fitserve.run.processes import running
from fitserve.run.registry import save

pytestmark = [
    pytest.mark.process,
    # the forked runner touches no thread of ours: it only imports, and starts an engine
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

Deploy = Callable[..., Deployment]
Start = Callable[[Deployment], Runner]


def test_comes_up_by_stages_and_goes_without_a_trace(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(answer="red")
    started = runner(deployment)
    live = started.until("answering")
    stages = [moment.stage for moment in live.stages]
    assert stages == ["config", "load", "profile", "kv_alloc", "warmup", "serve", "answering"]
    assert [moment.at_s for moment in live.stages] == sorted(moment.at_s for moment in live.stages)
    assert live.probe["outcome"] == "answered"
    assert live.probe["answer"] == "red"
    assert len(marked(home)) == 3
    assert started.end() == Exit.STOPPED
    assert marked(home) == []
    assert read_live("one").state == "stopped"
    assert is_free("127.0.0.1", deployment.port)


def test_the_record_tells_the_whole_run(deploy: Deploy, runner: Start) -> None:
    started = runner(replace_env(deploy(), VLLM_API_KEY="secret", HF_TOKEN="hf_x"))
    started.until("answering")
    started.end()
    told = events("one")
    assert [row["event"] for row in told if row["event"] != "stage"] == [
        "engine_started", "probe", "measured", "engine_ended", "ended",
    ]  # fmt: skip
    first = told[0]
    assert first["env"] == {"HF_TOKEN": "***", "PATH": os.environ["PATH"], "VLLM_API_KEY": "***"}
    measured = next(row for row in told if row["event"] == "measured")
    assert measured["kv_tokens"] == 883011
    assert measured["kv_blocks"] == 6899
    assert measured["memory_bytes"] > 1_000_000
    assert told[-2]["gpu_memory_back"] == "unknown"


@pytest.mark.parametrize("stage", ["config", "load", "warmup"])
def test_a_death_during_the_start_is_told_and_not_repeated(deploy: Deploy, runner: Start, stage: str) -> None:
    started = runner(deploy(die_at=stage, die_with="ValueError: no such thing"))
    assert started.wait() == Exit.GAVE_UP
    live = read_live("one")
    assert (live.state, live.reason, live.detail) == ("failed", "engine_died", "exit 1")
    assert live.evidence.text.endswith("ValueError: no such thing")
    lines = engine_log("one").read_text().splitlines()
    assert lines[live.evidence.line - 1] == live.evidence.text


def test_refused_arguments_are_the_evidence(deploy: Deploy, runner: Start) -> None:
    started = runner(deploy(refuse="unrecognized arguments: --swap-space"))
    assert started.wait() == Exit.GAVE_UP
    assert read_live("one").evidence.text == "api_server.py: error: unrecognized arguments: --swap-space"


def test_what_has_answered_is_started_again_with_back_off(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(die_after_s=0.3)
    for failures in (1, 2):
        started = runner(deployment)
        assert started.wait() == Exit.RESTART
        assert read_live("one").failures == failures
    assert runner(deployment).wait() == Exit.GAVE_UP
    live = read_live("one")
    assert (live.state, live.failures) == ("failed", 3)
    waits = [row["seconds"] for row in events("one") if row["event"] == "back_off"]
    assert waits == [0.05, 0.1]


def test_why_it_is_started_again_is_told_until_it_answers(deploy: Deploy, runner: Start) -> None:
    deployment = deploy(die_after_s=0.3)
    assert runner(deployment).wait() == Exit.RESTART
    again = runner(deployment)
    starting = again.until("starting")
    assert (starting.reason, starting.failures) == ("engine_died", 1)
    answering = again.until("answering")
    assert (answering.reason, answering.detail, answering.failures) == ("", "", 1)


def test_a_stable_time_clears_the_count(deploy: Deploy, runner: Start) -> None:
    deployment = deploy(die_after_s=0.3, policy=replace(QUICK, stable_s=0.1))
    for _ in range(3):
        assert runner(deployment).wait() == Exit.RESTART
    assert read_live("one").failures == 1


def test_healthy_but_dead_at_the_first_question(deploy: Deploy, runner: Start) -> None:
    assert runner(deploy(die_at_request=True)).wait() == Exit.GAVE_UP
    assert read_live("one").reason == "engine_died"


def test_an_engine_that_never_answers_is_ended(deploy: Deploy, runner: Start, home: Path) -> None:
    assert runner(deploy(fail_requests=99)).wait() == Exit.GAVE_UP
    live = read_live("one")
    assert (live.reason, live.evidence.text) == ("no_answer", "HTTP 500: the stub was told to fail")
    assert marked(home) == []


def test_an_empty_answer_is_no_answer(deploy: Deploy, runner: Start) -> None:
    assert runner(deploy(answer="")).wait() == Exit.GAVE_UP
    assert read_live("one").evidence.text == "empty answer, finish_reason=stop"


def test_one_failed_question_is_asked_again(deploy: Deploy, runner: Start) -> None:
    live = runner(deploy(fail_requests=1)).until("answering")
    assert live.probe["outcome"] == "answered"


def test_a_model_without_pictures_is_asked_in_text(deploy: Deploy, runner: Start) -> None:
    assert runner(deploy(no_pictures=True)).until("answering").probe["outcome"] == "text_only"


def test_a_wrong_answer_of_the_demo_model_is_not_an_answer(deploy: Deploy, runner: Start) -> None:
    deployment = replace(deploy(answer="I like\n\x1b[31mturtles\x1b]0;t\x07"), demo=True)
    save(deployment)
    assert runner(deployment).wait() == Exit.GAVE_UP
    live = read_live("one")
    assert (live.reason, live.evidence.text) == ("wrong_answer", "I like turtles")


def test_port_in_use(deploy: Deploy, runner: Start, free_port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port))
        taken.listen()
        assert runner(deploy()).wait() == Exit.GAVE_UP
    live = read_live("one")
    assert live.reason == "port_in_use"
    assert f"(pid {os.getpid()})" in live.evidence.text


def test_a_port_that_is_taken_during_the_start_is_not_asked(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(hang_at="load")
    started = runner(deployment)
    while len(marked(home)) < 3:
        time.sleep(0.02)
    with socket.create_server((deployment.host, deployment.port)):  # a stranger who might even answer
        assert started.wait() == Exit.GAVE_UP
    live = read_live("one")
    assert live.reason == "port_in_use"
    assert f"(pid {os.getpid()})" in live.evidence.text
    assert marked(home) == []


def test_a_missing_interpreter(deploy: Deploy, runner: Start) -> None:
    deployment = replace(deploy(), argv=("/nowhere/python",))
    save(deployment)
    assert runner(deployment).wait() == Exit.GAVE_UP
    assert read_live("one").detail == "/nowhere/python: No such file or directory"


@pytest.mark.parametrize("script", [{"stubborn": True}, {"orphan": True}], ids=["stubborn", "orphan"])
def test_what_does_not_hear_is_killed(deploy: Deploy, runner: Start, home: Path, script: dict[str, object]) -> None:
    started = runner(deploy(**script))
    started.until("answering")
    assert started.end() == Exit.STOPPED
    assert marked(home) == []
    assert next(row for row in events("one") if row["event"] == "engine_ended")["killed"]


def test_stopped_during_the_start(deploy: Deploy, runner: Start, home: Path) -> None:
    started = runner(deploy(hang_at="load"))
    while len(marked(home)) < 3:
        time.sleep(0.02)
    assert started.end() == Exit.STOPPED
    assert marked(home) == []


def test_the_next_runner_sweeps_what_a_killed_one_left(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(orphan=True)
    first = runner(deployment)
    first.until("answering")
    first.end(signal.SIGKILL)
    time.sleep(0.3)
    left = marked(home)
    assert left  # the orphan
    second = runner(deployment)
    live = second.until("answering")
    assert not set(left) & set(marked(home))
    assert live.failures == 1
    swept = next(row for row in events("one") if row["event"] == "swept")
    assert set(swept["pids"]) >= set(left)


@pytest.mark.parametrize("victim", ["leader", "core", "worker"])
def test_a_killed_part_ends_the_whole(deploy: Deploy, runner: Start, home: Path, victim: str) -> None:
    started = runner(deploy())
    live = started.until("answering")
    assert live.engine
    pid = live.engine.pid
    for _ in range(["leader", "core", "worker"].index(victim)):
        pid = next(process.pid for process in running() if process.parent == pid)
    os.kill(pid, signal.SIGKILL)
    assert started.wait() == Exit.RESTART
    assert read_live("one").reason == "engine_died"
    assert marked(home) == []


def test_a_stopped_engine_is_hung_and_comes_back(deploy: Deploy, runner: Start, home: Path) -> None:
    started = runner(deploy())
    engine = started.until("answering").engine
    assert engine
    os.kill(engine.pid, signal.SIGSTOP)
    started.until("hung")
    os.kill(engine.pid, signal.SIGCONT)
    started.until("answering")
    os.kill(engine.pid, signal.SIGSTOP)
    started.until("hung")
    assert started.end() == Exit.STOPPED
    assert marked(home) == []


def test_an_engine_that_stays_hung_is_started_again(deploy: Deploy, runner: Start, home: Path) -> None:
    started = runner(deploy(policy=replace(QUICK, hung_wait_s=0.2)))
    engine = started.until("answering").engine
    assert engine
    os.kill(engine.pid, signal.SIGSTOP)
    assert started.wait() == Exit.RESTART
    live = read_live("one")
    assert (live.reason, live.failures) == ("hung", 1)
    assert marked(home) == []


def test_a_full_disk_stops_nothing_and_is_told(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(noise=300_000)
    logs = deployment_dir("one") / "logs"
    logs.mkdir()
    (logs / "engine.log").symlink_to("/dev/full")
    live = runner(deployment).until("answering")
    assert any("No space left" in problem for problem in live.problems)


def test_a_state_folder_that_vanishes_stops_nothing(deploy: Deploy, runner: Start) -> None:
    deployment = deploy(stage_s=0.1)
    started = runner(deployment)
    while not started.until("starting").stages:
        time.sleep(0.01)
    folder = deployment_dir("one")
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("not a folder")
    live = started.until("answering")
    assert live.problems
    assert started.end() == Exit.STOPPED


def test_only_one_runner_has_a_deployment(deploy: Deploy, runner: Start) -> None:
    deployment = deploy()
    runner(deployment).until("answering")
    assert runner(deployment).wait() == Exit.LOCKED


def test_many_starts_and_stops_leave_nothing(deploy: Deploy, runner: Start, home: Path) -> None:
    deployment = deploy(stage_s=0)
    for _ in range(20):
        started = runner(deployment)
        started.until("answering")
        assert started.end() == Exit.STOPPED
        assert marked(home) == []
    assert len([row for row in events("one") if row["event"] == "ended"]) == 20


def test_no_deployment_or_a_broken_one(deploy: Deploy, runner: Start) -> None:
    deployment = deploy()
    assert runner(replace(deployment, name="nobody")).wait() == Exit.UNUSABLE
    (deployment_dir("one") / "deployment.json").write_text('{"name": "one"}')
    assert runner(deployment).wait() == Exit.UNUSABLE


def replace_env(deployment: Deployment, **more: str) -> Deployment:
    changed = replace(deployment, env={**deployment.env, **more})
    save(changed)
    return changed


def test_on_the_way_to_the_next_start_no_stage_of_the_last_is_shown(deploy: Deploy, runner: Start) -> None:
    started = runner(deploy())
    live = started.until("answering")
    assert live.engine
    os.kill(live.engine.pid, signal.SIGKILL)
    started.wait()
    after = read_live("one")
    assert after
    assert (after.state, after.stage, after.failures) == ("starting", None, 1)
