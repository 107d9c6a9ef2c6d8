"""Every fault, twenty times, on the stub: each time it answers again or is down with its cause; nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.run import faults
from tests.run.conftest import QUICK, marked
from tests.run.faults import LIVING, Living

from fitserve.run.control import Control
from fitserve.run.deployment import Deployment
from fitserve.run.live import read_live

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

ROUNDS = 20
SUPERVISOR, CORE_STOPPED = "SIGKILL to supervisor", "SIGSTOP to the engine core"  # the stub's core has nothing to do
POLICY = replace(
    QUICK, stable_s=0.0, hung_wait_s=0.0, backoff_s=0.01, knock_every_s=0.05, health_every_s=0.3, failures_allowed=99
)  # a quick machine kills it again before the first look that clears the count
Deploy = Callable[..., Deployment]


@pytest.mark.parametrize("fault", [fault for fault in LIVING if fault not in (SUPERVISOR, CORE_STOPPED)])
def test_they_answer_again_each_time(control: Control, deploy: Deploy, fault: str, free_port: int) -> None:
    names = enumerate(("one", "two", "three", "four", "five"))
    living = Living(control, tuple(deploy(name, POLICY, free_port + more, stage_s=0) for more, name in names))
    living.up()
    for _ in range(ROUNDS // len(living.deployments)):
        living.inflict(fault)
    living.down()


def test_a_supervisor_is_killed_again_and_again(control: Control, deploy: Deploy) -> None:
    living = Living(control, (deploy(policy=POLICY, stage_s=0),))
    living.up()
    for _ in range(ROUNDS):
        living.inflict(SUPERVISOR)
    living.down()


def test_the_engines_log_on_a_full_tmpfs(home: Path, deploy: Deploy) -> None:
    deployment = deploy(policy=POLICY, stage_s=0, noise=20_000)
    for _ in range(ROUNDS):
        runner, live = faults.started(deployment, faults.full_log(deployment))
        assert live.state == "answering"
        assert faults.ended(deployment, runner).state == "stopped"
        assert any("No space left" in problem for problem in live.problems)


def test_a_state_folder_that_is_read_only(home: Path, deploy: Deploy) -> None:
    deployment = deploy(policy=POLICY, stage_s=0)
    for _ in range(ROUNDS):
        runner, live = faults.started(deployment, faults.read_only(deployment))
        assert live.state == "answering"
        assert any("Read-only" in problem for problem in live.problems)
        assert faults.ended(deployment, runner).state == "stopped"


def test_a_clock_that_is_set_back(home: Path, deploy: Deploy) -> None:
    deployment = deploy(policy=POLICY, stage_s=0)
    for _ in range(ROUNDS):
        runner, live = faults.started(deployment, faults.clock_back(deployment))
        assert live.state == "answering"
        assert [moment.at_s for moment in live.stages] == sorted(moment.at_s for moment in live.stages)
        assert faults.ended(deployment, runner).state == "stopped"
    assert faults.whole_records("one")[-1]["event"] == "ended"


def test_a_memory_limit_that_is_reached(home: Path, deploy: Deploy) -> None:
    deployment = deploy(policy=POLICY, stage_s=0, weight_bytes=8 << 30)
    for _ in range(ROUNDS):
        runner, live = faults.started(deployment, faults.memory_limit(deployment, 2 << 30))
        assert (live.state, live.reason) == ("failed", "engine_died")
        assert live.diagnosis["cause"] == "host_ram"
        assert runner.wait(30) == 70
        assert marked(home) == []
    assert read_live("one")
