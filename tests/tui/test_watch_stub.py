"""`watch` over a real runner and the stub of vLLM: what runs is seen, what died is not called well."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.observe.moments import Moment, read_moments
from fitserve.observe.recorder import samples_file
from run.conftest import deploy, free_port, home, runner, stub

__all__ = ["deploy", "free_port", "home", "runner", "stub"]  # fixtures
pytestmark = pytest.mark.process


def samples_of(name: str) -> list[Moment]:
    path = samples_file(name)
    return list(read_moments(path)) if path.exists() else []


def looked(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = told(app, ["watch", "one", "--once", "--json", "--interval", "0.1"])
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    return code, row


def test_a_deployment_from_answering_to_dead(deploy, runner, capsys) -> None:
    one = runner(deploy())
    live = one.until("answering")
    while not samples_of("one"):
        time.sleep(0.02)
    code, row = looked(capsys)
    assert code == 0
    (service,) = row["services"]
    assert (service["name"], service["state"]) == ("one", "answering")
    assert service["metrics"]["values"]["running"] == 0
    assert {process["pid"] for process in row["host"]["processes"]} == {member.pid for member in live.members}
    assert all(process["rss_bytes"] > 0 for process in row["host"]["processes"])
    assert row["figures"][0]["signs"]["engine_cores"] is not None
    assert row["machine"]["samples"] > 2  # its runner has looked before us
    os.kill(live.engine.pid, signal.SIGSTOP)  # it holds its port and says nothing; its runner needs a while to see that
    code, row = looked(capsys)
    assert code == 1
    assert row["services"][0]["state"] in ("unreachable", "hung")
    os.kill(live.engine.pid, signal.SIGCONT)
    os.kill(one.process.pid, signal.SIGTERM)
    one.wait()
    code, row = looked(capsys)
    assert code == 1
    assert row["services"][0]["state"] == "stopped"
    assert row["services"][0]["metrics"] is None
    assert row["host"]["processes"] == []
