"""The host: shared memory for several ranks, WSL2's share, a compiler, room for the weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr
from fitserve.units import GIB, MIB, format_bytes

SHM, WSL, COMPILER, DISK = "shared_memory", "wsl", "compiler", "disk"
# multiprocessing rings of vLLM: 10 chunks of 16 MiB, and 10 of 24 MiB for each rank's answers; NCCL takes its own.
_RING, _ANSWERS, _COMFORT = 160 * MIB, 240 * MIB, 2 * GIB


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """What a start would stumble over on this host. Nothing is said of a host when the cards are of another machine."""
    elsewhere = given.gpus is not None and any(card.assumed for card in given.gpus)
    if elsewhere:
        return
    yield from _shared_memory(given, settings)
    if given.host.wsl and given.gpus is not None:
        yield Check(WSL, CheckState.WARN, tr("plan.check_wsl"))
    if given.on_cpu and not settings.enforce_eager:
        state = CheckState.OK if given.host.compiler else CheckState.FAIL
        key = "plan.check_compiler_found" if given.host.compiler else "plan.check_compiler_missing"
        yield Check(COMPILER, state, tr(key, path=given.host.compiler or ""))
    yield from _disk(given)


def _shared_memory(given: Given, settings: Settings) -> Iterator[Check]:
    ranks, size = settings.tensor_parallel_size, given.host.shm_total_bytes
    if ranks < 2:
        return
    if size is None:
        yield Check(SHM, CheckState.UNKNOWN, tr("plan.check_shm_unknown"))
        return
    need = _RING + ranks * _ANSWERS
    state = CheckState.FAIL if size < need else CheckState.WARN if size < _COMFORT else CheckState.OK
    yield Check(SHM, state, tr("plan.check_shm", size=format_bytes(size), need=format_bytes(need)))


def _disk(given: Given) -> Iterator[Check]:
    """A hub model must still be downloaded; a folder is there."""
    source, free = given.model.source, given.host.disk_free_bytes
    need = given.model.checkpoint_bytes
    if Path(source).is_dir() or not need or given.model.source == "geometry":
        return
    if free is None:
        yield Check(DISK, CheckState.UNKNOWN, tr("plan.check_disk_unknown"))
        return
    state = CheckState.OK if free > need else CheckState.FAIL
    yield Check(DISK, state, tr("plan.check_disk", need=format_bytes(need), free=format_bytes(free)))
