"""A picture prepared in a process of its own: large ones, whose memory then goes back to the system, and HEIC, whose
decoder crashes on damaged bytes (seen by fuzzing) and must not take a page along.

As a program it reads a line with the job and then the file from stdin, and writes the outcome to stdout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass

import msgspec

from fitserve.chat.decode import refused
from fitserve.chat.images import Limits, Picture, prepare_here
from fitserve.chat.said import PictureRefused, Said, said
from fitserve.units import GIB

_TIME_LIMIT_S = 60
_MEMORY_LIMIT = 3 * GIB  # the largest picture takes 0.6
_lanes = threading.Semaphore(2)  # processes at once: who sends many large pictures waits


@dataclass(frozen=True)
class _Job:
    name: str
    limits: Limits


@dataclass(frozen=True)
class _Outcome:
    """A picture, or why there is none."""

    picture: Picture | None = None
    what: Said | None = None
    code: str = ""
    evidence: str = ""
    next_step: Said | None = None


def prepare_apart(data: bytes, name: str, limits: Limits) -> Picture:
    """As `prepare_here`. Raises PictureRefused, also where the other process crashed or took too long."""
    argv = [sys.executable, "-P", "-m", "fitserve.chat.apart"]
    job = msgspec.json.encode(_Job(name, limits)) + b"\n"
    try:
        with _lanes:
            done = subprocess.run(argv, input=job + data, capture_output=True, timeout=_TIME_LIMIT_S, check=True)
        outcome = msgspec.msgpack.decode(done.stdout, type=_Outcome)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError) as error:
        raise refused("broken", name, evidence=type(error).__name__) from error
    if outcome.picture:
        return outcome.picture
    what = outcome.what or said("chat.picture_broken", name=name)
    raise PictureRefused(what, code=outcome.code, evidence=outcome.evidence, next_step=outcome.next_step)


def _main() -> None:
    import resource

    import pi_heif

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_LIMIT, _MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (_TIME_LIMIT_S, _TIME_LIMIT_S))
    os.nice(5)  # answers that stream come first
    pi_heif.register_heif_opener()
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Job)
    try:
        outcome = _Outcome(prepare_here(sys.stdin.buffer.read(), job.name, job.limits))
    except PictureRefused as error:
        outcome = _Outcome(None, error.what, error.code, error.evidence, error.next_step)
    sys.stdout.buffer.write(msgspec.msgpack.encode(outcome))


if __name__ == "__main__":
    _main()
