"""The demo model on the real CPU engine: comes up right, survives the loss of its core, leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.run.conftest import marked

from fitserve.engines.find import pick_engine
from fitserve.run.live import Live, read_live
from fitserve.run.processes import running
from fitserve.run.registry import load
from fitserve.run.supervisor import Supervisor
from fitserve.run.supervisor_conf import socket_path

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def engine_python() -> Path:
    """The engine to test with, found before a test gets a home of its own."""
    return pick_engine(None, "cpu").python


def say(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fitserve", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=800)


def until(wanted: str, but: Live) -> Live:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        live = read_live("demo")
        if live and live.state == wanted and live.engine != but.engine:
            return live
        time.sleep(0.5)
    raise AssertionError(read_live("demo"))


def test_up_a_lost_core_and_down(engine_python: Path, home: Path, free_port: int) -> None:
    up = say("up", "demo", "--json", "--no-page", "--port", str(free_port), "--engine-python", str(engine_python))
    assert up.returncode == 0, up.stderr
    told = json.loads(up.stdout)
    assert told["probe"]["outcome"] == "right", told["probe"]
    stages = [row["stage"] for row in told["stages"]]
    assert stages[0] == "config"
    assert stages[-2:] == ["serve", "answering"]
    assert {"load", "kv_alloc"} <= set(stages)
    ledger = {row["item"]: row for row in told["ledger"]}
    for item in ("kv_blocks", "kv_tokens", "kv_pool"):
        assert ledger[item]["planned"] == ledger[item]["measured"], item

    live = read_live("demo")
    assert live
    assert live.engine
    leader = live.engine.pid
    children = [process.pid for process in running() if process.parent == leader]
    core = next(pid for pid in children if Path(f"/proc/{pid}/comm").read_text().startswith("VLLM::Engine"))
    os.kill(core, signal.SIGKILL)
    again = until("answering", but=live)
    assert again.failures == 1
    assert again.probe["outcome"] == "right"
    assert set(marked(home)) == {member.pid for member in again.members}

    assert say("down", "--all").returncode == 0
    assert marked(home) == []
    assert not Supervisor().processes()
    assert not socket_path().exists()
    assert load("demo")
