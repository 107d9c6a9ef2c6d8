"""The folder of an engine's sockets: its own, short, and gone afterwards."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fitserve.paths import runtime_dir
from fitserve.run.control import Control
from fitserve.run.live import read_live
from fitserve.run.sockets import VARIABLE, clear_sockets, with_sockets


def test_a_folder_that_takes_a_uuid(home: Path) -> None:
    env = with_sockets("one", {"A": "b"})
    folder = Path(env[VARIABLE])
    assert folder.parent == runtime_dir()
    assert folder.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "3f2504e0-4f89-41d3-9a0c-0305e82c3301"))
    assert not list(Path(with_sockets("one", {})[VARIABLE]).iterdir())
    clear_sockets("one")
    assert not folder.exists()


def test_a_folder_that_was_chosen_is_kept(home: Path) -> None:
    assert with_sockets("one", {VARIABLE: "/x"}) == {VARIABLE: "/x"}


def test_it_goes_with_the_engine(deploy: Callable[..., Any], runner: Callable[..., Any]) -> None:
    one = runner(deploy())
    live = one.until("answering")
    environment = Path(f"/proc/{live.engine.pid}/environ").read_text()
    folder = Path(environment.split(f"{VARIABLE}=")[1].split("\0")[0])
    assert folder.is_dir()
    one.end()
    assert not folder.exists()


@pytest.mark.process
def test_it_goes_with_an_engine_whose_runner_was_killed(deploy: Callable[..., Any], runner: Callable[..., Any]) -> None:
    one = runner(deploy())
    one.until("answering")
    one.end(signal.SIGKILL)
    control = Control()
    with control.alone("one"):
        control.stop("one")
    assert not list(runtime_dir().glob("rpc-*"))
    assert read_live("one").state == "stopped"
