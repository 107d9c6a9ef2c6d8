"""Blocks of a dead engine go; those of anybody else stay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path

import pytest

from fitserve.run.shared_memory import SharedMemory

HOLD = """
import sys
from multiprocessing import resource_tracker, shared_memory
name = sys.argv[1]
block = shared_memory.SharedMemory(name or None, create=not name, size=4096)
resource_tracker.unregister(block._name, "shared_memory")
print(block.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holders() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for one in started:
        killed(one)


def killed(one: subprocess.Popen[str]) -> None:
    one.kill()
    one.communicate()


def hold(started: list[subprocess.Popen[str]], name: str = "") -> tuple[subprocess.Popen[str], Path]:
    argv = [sys.executable, "-c", HOLD, name]
    one = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started.append(one)
    assert one.stdout
    return one, Path("/dev/shm") / one.stdout.readline().strip()


def test_what_a_killed_engine_left_goes_and_a_neighbours_stays(holders: list[subprocess.Popen[str]]) -> None:
    memory = SharedMemory()
    engine, block = hold(holders)
    neighbour, other = hold(holders)
    memory.look([engine.pid])
    killed(engine)
    killed(neighbour)
    assert memory.clear() == (str(block),)
    assert not block.exists()
    assert other.exists()  # nobody saw the engine use it
    other.unlink()


def test_what_somebody_still_uses_stays(holders: list[subprocess.Popen[str]]) -> None:
    memory = SharedMemory()
    engine, block = hold(holders)
    hold(holders, block.name)
    memory.look([engine.pid])
    killed(engine)
    assert memory.clear() == ()
    assert block.exists()
    block.unlink()


def test_what_was_there_before_stays(holders: list[subprocess.Popen[str]]) -> None:
    ours = shared_memory.SharedMemory(create=True, size=4096)
    resource_tracker.unregister(f"/{ours.name}", "shared_memory")
    ours.close()
    memory = SharedMemory()
    engine, block = hold(holders, ours.name)
    memory.look([engine.pid])
    killed(engine)
    assert memory.clear() == ()
    block.unlink()
