"""Every fault once on the real engine: one deployment takes all that a living one can meet, in turn.

The log on a full tmpfs is in `tests/diagnose/test_faults.py`, which starts the real engine on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.run import faults, real
from tests.run.faults import LIVING, Living

from fitserve.run.control import Control

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with real.own_home(tmp_path_factory.mktemp("faults")) as folder:
        yield folder


@pytest.fixture(scope="module")
def living(home: Path) -> Iterator[Living]:
    """Up once for the module, down at its end with nothing left."""
    living = Living(Control(), (real.demo("faulty"),))
    try:
        living.up()
        yield living
        living.down()
    finally:
        living.control.supervisor.end()


@pytest.mark.parametrize("fault", [fault for fault in LIVING if fault != "SIGSTOP to the engine"])
def test_it_answers_again(living: Living, fault: str) -> None:
    living.inflict(fault)
    assert faults.moment("faulty").probe["outcome"] == "right"


def test_read_only_state_and_a_clock_that_runs_back(home: Path) -> None:
    deployment = real.demo("sealed")
    runner, live = faults.started(deployment, faults.read_only(deployment, faults.clock_back(deployment)))
    assert live.state == "answering"
    assert live.probe["outcome"] == "right"
    assert any("Read-only" in problem for problem in live.problems)
    assert faults.ended(deployment, runner).state == "stopped"


def test_a_memory_limit_that_is_reached(home: Path) -> None:
    deployment = real.demo("poor", kv_gib=real.LIMIT_GIB)
    runner, live = faults.started(deployment, faults.memory_limit(deployment, real.LIMIT_GIB << 30))
    assert (live.state, live.reason) == ("failed", "engine_died")
    assert live.diagnosis["cause"] == "host_ram", live.evidence
    assert runner.wait(60) == 70
    assert faults.members("poor") == set()
