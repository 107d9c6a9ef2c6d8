"""Waiting until the GPU memory is back: an engine's processes may be gone before the driver has cleared up."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.clock import Clock
from fitserve.run.edges import GpuMemory, Holder
from fitserve.units import MIB

_SLACK_BYTES = 256 * MIB  # other programs on the card move too
_POLL_S = 0.25
_IDLE_BYTES = 768 * MIB  # that a card holds beside what its processes are charged with


@dataclass(frozen=True)
class Release:
    """Whether it came back. None where no driver can say; then nothing was waited for."""

    back: bool | None
    seconds: float
    holders: tuple[Holder, ...] = ()  # who holds memory on the cards, when it did not


def wait_for_memory(
    gpu: GpuMemory, before: tuple[int, ...] | None, ours: frozenset[int], wait_s: float, clock: Clock
) -> Release:
    """Wait until no pid of ours holds memory, and each card uses no more than `before`, or others account for it."""
    started = clock.monotonic()
    while True:
        now, holders = gpu.used_bytes(), gpu.holders() or ()
        seconds = clock.monotonic() - started
        if before is None or now is None:
            return Release(None, seconds)
        ended = not any(holder.pid in ours for holder in holders)
        if ended and (_as_before(now, before) or _is_others(now, holders)):
            return Release(True, seconds)
        if seconds >= wait_s:
            return Release(False, seconds, holders)
        clock.sleep(_POLL_S)


def _as_before(now: tuple[int, ...], before: tuple[int, ...]) -> bool:
    return all(used <= then + _SLACK_BYTES for used, then in zip(now, before, strict=False))


def _is_others(now: tuple[int, ...], holders: tuple[Holder, ...]) -> bool:
    """Whether what is in use belongs to processes that came meanwhile: a neighbour's start is not our leak."""
    claimed = sum(holder.used_bytes or 0 for holder in holders)
    return claimed > 0 and sum(now) <= claimed + len(now) * _IDLE_BYTES
