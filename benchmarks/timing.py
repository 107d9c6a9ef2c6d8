"""Whole-process times: several runs in turn, so that a busy minute hits every command alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence


def seconds(argv: Sequence[str]) -> float:
    """Wall seconds of one run of a command; its output is thrown away. Raises CalledProcessError when it fails."""
    begun = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    return time.perf_counter() - begun


def interleaved(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Times by name; one unmeasured round first, then `rounds` rounds over all commands in turn."""
    for argv in commands.values():
        seconds(argv)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            times[name].append(seconds(argv))
    return times


def row(name: str, times: Sequence[float], base: float, bound: str) -> str:
    """One line: minimum, median, maximum, the ratio of medians to the base, the bound asked for."""
    median = statistics.median(times)
    return f"{name:<34} {min(times):7.3f} {median:7.3f} {max(times):7.3f}  {median / base:6.2f}x  {bound}"


PYTHON = sys.executable
