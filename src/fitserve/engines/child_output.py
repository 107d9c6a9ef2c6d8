"""What a strange interpreter prints, bounded in time and memory: it may hang, or never end to print."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_CHUNK = 64 * 1024
_TAIL = 256 * 1024  # the answer, and the reason of a failure, stand at the end
_LOOK_S = 0.2


@dataclass(frozen=True)
class ChildOutput:
    """The ends of both streams, and the exit code."""

    stdout: str
    stderr: str
    code: int


def child_output(
    argv: Sequence[str], env: Mapping[str, str], seconds: float, waiting: Callable[[], None], patience_s: float = 5.0
) -> ChildOutput:
    """Run it to its end; `waiting` is called once where that takes longer than `patience_s`.

    It runs in a group of its own, and none of the group outlives this call. Raises OSError where it can't be started,
    subprocess.TimeoutExpired where it takes longer than `seconds`.
    """
    child = subprocess.Popen(
        list(argv),
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    streams = [stream for stream in (child.stdout, child.stderr) if stream]
    tails = {stream.fileno(): b"" for stream in streams}
    try:
        _listen(child, tails, seconds, waiting, patience_s)
        code = child.returncode
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for stream in streams:
            stream.close()
    stdout, stderr = (tail.decode(errors="replace") for tail in tails.values())
    return ChildOutput(stdout, stderr, code)


def _listen(
    child: subprocess.Popen[bytes],
    tails: dict[int, bytes],
    seconds: float,
    waiting: Callable[[], None],
    patience_s: float,
) -> None:
    """Until it has ended and said its last; what it started and left may hold the pipes open for ever."""
    began, told = time.monotonic(), False
    with selectors.DefaultSelector() as ears:
        for number in tails:
            ears.register(number, selectors.EVENT_READ)
        while True:
            ended = child.poll() is not None
            heard = _heard(ears, tails)
            if ended and not heard:
                return
            passed = time.monotonic() - began
            if passed > seconds:
                raise subprocess.TimeoutExpired(child.args, seconds)
            if passed > patience_s and not told:
                told = True
                waiting()


def _heard(ears: selectors.BaseSelector, tails: dict[int, bytes]) -> bool:
    """Take in what is there; False where nothing came for a moment."""
    if not ears.get_map():
        time.sleep(0.02)
        return False
    heard = False
    for key, _ in ears.select(_LOOK_S):
        chunk = os.read(key.fd, _CHUNK)
        tails[key.fd] = (tails[key.fd] + chunk)[-_TAIL:]
        if chunk:
            heard = True
        else:
            ears.unregister(key.fd)
    return heard
