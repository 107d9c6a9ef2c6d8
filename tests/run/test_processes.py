"""Processes told apart, and only surely ours ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from fitserve.clock import SystemClock
from fitserve.run.processes import MARK, Identity, carries_mark, command_line, is_alive, look_up, memory_bytes
from fitserve.run.sweep import end, engine_members

Sleeper = subprocess.Popen[bytes]
SLEEP = [sys.executable, "-S", "-c", "print(flush=True); import time; time.sleep(60)"]


@pytest.fixture
def sleeper() -> Iterator[Callable[..., Sleeper]]:
    """Processes that do nothing, with or without the mark `mine`, in a group of their own or not."""
    started: list[Sleeper] = []

    def start(mark: str = "", group: int | None = 0) -> Sleeper:
        env = dict(os.environ) | ({MARK: mark} if mark else {})
        process = subprocess.Popen(SLEEP, env=env, stdout=subprocess.PIPE, process_group=group)
        assert process.stdout
        process.stdout.readline()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def identity(process: Sleeper) -> Identity:
    found = look_up(process.pid)
    assert found
    return found.identity


def test_a_process_is_known_by_pid_start_and_boot(sleeper: Callable[..., Sleeper]) -> None:
    one = identity(sleeper())
    assert is_alive(one)
    assert not is_alive(replace(one, start_ticks=one.start_ticks - 1))
    assert not is_alive(replace(one, boot="another"))
    assert not is_alive(None)


def test_a_zombie_is_not_alive(sleeper: Callable[..., Sleeper]) -> None:
    process = sleeper()
    one = identity(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    found = look_up(process.pid)
    assert found
    assert found.zombie
    assert not is_alive(one)


def test_what_is_told_of_a_process(sleeper: Callable[..., Sleeper]) -> None:
    process = sleeper("mine")
    assert command_line(process.pid) == tuple(SLEEP)
    assert carries_mark(process.pid, "mine")
    assert not carries_mark(process.pid, "min")
    assert (memory_bytes(process.pid) or 0) > 1_000_000
    assert look_up(2**22 + 1) is None
    assert command_line(2**22 + 1) == ()
    assert memory_bytes(2**22 + 1) is None
    assert not carries_mark(2**22 + 1, "mine")


def test_members_carry_the_mark_and_are_recorded_or_in_the_group(sleeper: Callable[..., Sleeper]) -> None:
    leader = sleeper("mine")
    inside = sleeper("mine", group=leader.pid)
    recorded = sleeper("mine")
    stranger = sleeper("mine")  # the mark alone
    unmarked = sleeper("", group=leader.pid)
    other = sleeper("other")
    known = [identity(recorded), identity(other), replace(identity(stranger), start_ticks=1)]
    found = {one.pid for one in engine_members("mine", identity(leader), known)}
    assert found == {leader.pid, inside.pid, recorded.pid}
    assert unmarked.pid not in found


def test_a_group_that_is_older_than_the_engine_is_somebody_elses(sleeper: Callable[..., Sleeper]) -> None:
    process = sleeper("mine")
    later = replace(identity(process), start_ticks=identity(process).start_ticks + 1)
    assert engine_members("mine", later) == ()
    before_the_boot = replace(identity(process), boot="another")
    assert engine_members("mine", before_the_boot) == ()


def test_a_stopped_process_hears_the_end(sleeper: Callable[..., Sleeper]) -> None:
    process = sleeper("mine")
    os.kill(process.pid, signal.SIGSTOP)
    assert end([identity(process)], 5.0, SystemClock()) == ()
    assert process.wait() == -signal.SIGTERM
