"""Waiting until the GPU memory is back: an engine's processes may be gone before the driver has cleared up."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.clock import Clock
from fitserve.run.edges import GpuMemory, Holder
from fitserve.units import MIB

_SLACK_BYTES = 256 * MIB  # other programs on the card move too
_POLL_S = 0.25


@dataclass(frozen=True)
class Release:
    """Whether it came back. None where no driver can say; then nothing was waited for."""

    back: bool | None
    seconds: float
    holders: tuple[Holder, ...] = ()  # who holds memory on the cards, when it did not


def wait_for_memory(
    gpu: GpuMemory, before: tuple[int, ...] | None, ours: frozenset[int], wait_s: float, clock: Clock
) -> Release:
    """Wait until each card uses no more than `before` the start, and none of our pids holds any."""
    started = clock.monotonic()
    while True:
        now, holders = gpu.used_bytes(), gpu.holders() or ()
        seconds = clock.monotonic() - started
        if before is None or now is None:
            return Release(None, seconds)
        ended = not any(holder.pid in ours for holder in holders)
        if ended and all(used <= then + _SLACK_BYTES for used, then in zip(now, before, strict=False)):
            return Release(True, seconds)
        if seconds >= wait_s:
            return Release(False, seconds, holders)
        clock.sleep(_POLL_S)
