"""What an earlier engine left behind, and ending it: only processes that are surely ours."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from fitserve.clock import Clock
from fitserve.run.processes import Identity, Process, boot_id, carries_mark, is_alive, running

_POLL_S = 0.05


def engine_members(mark: str, leader: Identity | None, known: Iterable[Identity] = ()) -> tuple[Identity, ...]:
    """Living processes of an engine that this deployment started.

    Each carries the deployment's mark, and either was recorded (pid, start and boot agree), or stands in the recorded
    engine's process group and is no older than the engine. A mark alone proves nothing, nor does a pid.
    """
    recorded = set(known) | ({leader} if leader else set())
    return tuple(
        process.identity
        for process in running()
        if process.pid != os.getpid()
        and (process.identity in recorded or _in_group(process, leader))
        and carries_mark(process.pid, mark)
    )


def _in_group(process: Process, leader: Identity | None) -> bool:
    if leader is None or leader.boot != boot_id():
        return False
    return process.group == leader.pid and process.start_ticks >= leader.start_ticks


def end(members: Iterable[Identity], wait_s: float, clock: Clock) -> tuple[Identity, ...]:
    """TERM, wait, KILL, wait. Returns those that needed the KILL. A stopped process is woken to hear the TERM."""
    targets = tuple(members)
    send(targets, signal.SIGTERM)
    send(targets, signal.SIGCONT)
    stubborn = wait_gone(targets, wait_s, clock)
    send(stubborn, signal.SIGKILL)
    wait_gone(stubborn, 10.0, clock)
    return stubborn


def send(targets: Iterable[Identity], number: signal.Signals) -> None:
    """Signal each that still is the process that was meant."""
    for target in targets:
        if is_alive(target):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(target.pid, number)


def wait_gone(targets: Iterable[Identity], wait_s: float, clock: Clock) -> tuple[Identity, ...]:
    """Wait until they are gone, at most `wait_s`; returns those that are not."""
    deadline = clock.monotonic() + wait_s
    left = tuple(filter(is_alive, targets))
    while left and clock.monotonic() < deadline:
        clock.sleep(_POLL_S)
        left = tuple(filter(is_alive, left))
    return left
