"""What machines do to deployments, and what must be true afterwards: for the stub, the real engine, and `scripts/soak`.

A fault of the living (`LIVING`) is inflicted on supervised deployments that answer; they answer again, or it fails.
The others (`full_log` and its like) change how a runner is started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fitserve.observe.record import latest_record
from fitserve.paths import state_dir
from fitserve.run.control import Control
from fitserve.run.deployment import Deployment, deployment_dir, records_dir
from fitserve.run.exits import Exit
from fitserve.run.follow import follow
from fitserve.run.live import Live, forget_live, read_live
from fitserve.run.ports import is_free, listens_alone
from fitserve.run.processes import MARK, running
from fitserve.run.registry import save
from fitserve.run.supervisor_conf import program_path, socket_path

PATIENCE_S = 700.0  # for a real engine on a busy machine


@dataclass(frozen=True)
class Living:
    """Deployments that answer, under one supervisor."""

    control: Control
    deployments: tuple[Deployment, ...]

    def up(self) -> None:
        """Start them and wait for their answers."""
        for deployment in self.deployments:
            with self.control.alone(deployment.name):
                self.control.start(deployment)
        for deployment in self.deployments:
            *_, last = follow(deployment.name, self.control.supervisor, self.control.clock, PATIENCE_S)
            assert last.state == "answering", last

    def down(self) -> None:
        """Stop them; nothing is left."""
        for deployment in self.deployments:
            with self.control.alone(deployment.name):
                self.control.stop(deployment.name)
            assert members(deployment.name) == set()
            assert is_free(deployment.host, deployment.port)
        assert not self.control.supervisor.processes()
        assert not socket_path().exists()

    def inflict(self, fault: str) -> None:
        """One fault on each, from answering to answering."""
        act, *reasons = LIVING[fault]
        before = [_answers(deployment.name) for deployment in self.deployments]
        act(self)
        for live in before:
            _answers(live.name, but=live)
        for deployment in self.deployments:
            self._is_whole(deployment, reasons)

    def _is_whole(self, deployment: Deployment, reasons: list[str]) -> None:
        """No orphan, one supervisor, our port, no half record, and the last end has a right reason."""
        name = deployment.name
        assert members(name) == {one.pid for one in moment(name).members}
        assert len(self.control.supervisor.processes()) == 1
        assert program_path(name).exists()
        assert listens_alone(deployment.host, deployment.port, members(name))
        ends = [row.get("reason") for row in whole_records(name)]
        assert ends[-2] in reasons, ends  # the last one is the run that goes on


def moment(name: str) -> Live:
    """The live state, which is there."""
    live = read_live(name)
    assert live
    return live


def _answers(name: str, but: Live | None = None) -> Live:
    """Wait until it answers, with another engine and another runner than `but` had."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        live = moment(name)
        assert live.state != "failed", live
        if live.state == "answering" and (but is None or (live.engine != but.engine and live.runner != but.runner)):
            return live
        time.sleep(0.05)
    raise AssertionError(read_live(name))


def members(name: str) -> set[int]:
    """Processes that carry the deployment's mark."""
    sign = f"{MARK}={deployment_dir(name)}\0".encode()
    found = set()
    for process in running():
        try:
            if sign in Path(f"/proc/{process.pid}/environ").read_bytes() + b"\0":
                found.add(process.pid)
        except OSError:
            continue
    return found


def whole_records(name: str) -> list[dict[str, object]]:
    """The last event of every run, oldest first; all lines of all records are JSON, and ended runs have their end."""
    last = []
    for path in sorted(records_dir(name).glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows[-1]["event"] == "ended" or path == latest_record(name), path
        last.append(rows[-1])
    return last


def tree(name: str) -> list[int]:
    """The API process, the engine core, and the first worker where there is one."""
    live, own = moment(name), members(name)
    assert live.engine
    pids = [live.engine.pid]
    while below := [one.pid for one in running() if one.parent == pids[-1] and one.pid in own and _is_engine(one.pid)]:
        pids.append(min(below))
    return pids


def _is_engine(pid: int) -> bool:
    """Not a helper, such as Python's resource tracker."""
    return "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text()


def _to_runner(living: Living) -> None:
    for deployment in living.deployments:
        runner = moment(deployment.name).runner
        assert runner
        os.kill(runner.pid, signal.SIGKILL)


def _to_supervisor(living: Living) -> None:
    (supervisor,) = living.control.supervisor.processes()
    os.kill(supervisor.pid, signal.SIGKILL)


def _to_engine(part: slice, number: signal.Signals) -> Callable[[Living], None]:
    """A signal to a part of each engine's `tree`."""

    def act(living: Living) -> None:
        for deployment in living.deployments:
            parts = tree(deployment.name)[part]
            assert parts
            for pid in parts:
                os.kill(pid, number)

    return act


LIVING: dict[str, tuple[Any, ...]] = {  # what is done, and the reasons that its end may have
    "SIGKILL to the runner": (_to_runner, "runner_died"),
    "SIGKILL to the API process": (_to_engine(slice(0, 1), signal.SIGKILL), "engine_died"),
    # vLLM's server outlives its core by some seconds, and answers nobody
    "SIGKILL to the engine core": (_to_engine(slice(1, 2), signal.SIGKILL), "engine_died", "hung"),
    "SIGKILL to a worker": (_to_engine(slice(2, 3), signal.SIGKILL), "engine_died", "hung"),
    "SIGKILL to supervisor": (_to_supervisor, "supervisor_died"),
    "SIGSTOP to the engine": (_to_engine(slice(0, None), signal.SIGSTOP), "hung"),
    "SIGSTOP to the engine core": (_to_engine(slice(1, 2), signal.SIGSTOP), "hung"),  # its server still opens the door
}


# faults of a start


def full_log(deployment: Deployment) -> list[str]:
    """The command of a runner whose engine's log has 16 KiB left."""
    logs = deployment_dir(deployment.name) / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    mount = f"mount -t tmpfs -o size=64k tmpfs {logs} && head -c 48k /dev/zero >{logs}/taken"
    return _unshared(mount, deployment.name)


def read_only(deployment: Deployment, runner: list[str] | None = None) -> list[str]:
    """The command of a runner that can write nothing of the state folder."""
    state = state_dir()
    return _unshared(f"mount --bind {state} {state} && mount -o remount,bind,ro {state}", deployment.name, runner)


def clock_back(deployment: Deployment) -> list[str]:
    """The command of a runner whose clock runs back, a day each second."""
    words = f"""
import sys, time
from fitserve.clock import SystemClock
from fitserve.cli.internal_run import own
class Back(SystemClock):
    def now(self): return 2e9 - 86400 * time.monotonic()
sys.exit(own({deployment.name!r}, Back()))
"""
    return [sys.executable, "-c", words]


def memory_limit(deployment: Deployment, limit_bytes: int) -> list[str]:
    """The command of a runner whose engine may take so much address space."""
    save(replace(deployment, argv=("prlimit", f"--as={limit_bytes}", *deployment.argv)))
    return [sys.executable, "-m", "fitserve", "_run", deployment.name]


def _unshared(command: str, name: str, runner: list[str] | None = None) -> list[str]:
    """A mount namespace of its own, prepared by a command, with the usual runner or another."""
    runner = runner or [sys.executable, "-m", "fitserve", "_run", name]
    return ["unshare", "-rm", "sh", "-c", f'{command} && exec "$@"', "sh", *runner]


def started(deployment: Deployment, command: list[str]) -> tuple[subprocess.Popen[bytes], Live]:
    """Run it until the deployment answers, or failed."""
    forget_live(deployment.name)  # as `up` does
    runner = subprocess.Popen(command)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert runner.poll() in (None, Exit.GAVE_UP)
        live = read_live(deployment.name)
        if live and live.state in ("answering", "failed"):
            return runner, live
        time.sleep(0.05)
    raise AssertionError(read_live(deployment.name))


def ended(deployment: Deployment, runner: subprocess.Popen[bytes]) -> Live:
    """Stop it; no process and no port is left, and its last word can be read."""
    runner.terminate()
    runner.wait(PATIENCE_S)
    assert members(deployment.name) == set()
    assert is_free(deployment.host, deployment.port)
    live = read_live(deployment.name)
    assert live
    return live
