"""Reads the cards through NVIDIA's management library, as far as each driver answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from fitserve.facts.gpu import Gpu, GpuProcess, GpusUnknown
from fitserve.facts.gpu_kinds import find_kind
from fitserve.text import tr

Handle = object
_T = TypeVar("_T")
_P2P_READ = 0  # pynvml writes it `NVML_P2P_CAPS_INDEX_READ = 0,`: a tuple, which NVML does not take


class Memory(Protocol):
    """`reserved` is the driver's own share, which no program gets."""

    total: int
    free: int
    reserved: int


class NvmlProcess(Protocol):
    """`usedGpuMemory` is None where the driver hides it (WSL2, some containers)."""

    pid: int
    usedGpuMemory: int | None  # noqa: N815 - NVML's name


class Nvml(Protocol):
    """The part of pynvml that is used; NVMLError has a `value`."""

    NVMLError: type[Exception]
    NVML_P2P_STATUS_OK: int
    nvmlMemory_v2: int  # noqa: N815

    def nvmlInit(self) -> None: ...  # noqa: N802
    def nvmlShutdown(self) -> None: ...  # noqa: N802
    def nvmlSystemGetDriverVersion(self) -> str: ...  # noqa: N802
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: N802
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Handle: ...  # noqa: N802
    def nvmlDeviceGetName(self, handle: Handle) -> str: ...  # noqa: N802
    def nvmlDeviceGetUUID(self, handle: Handle) -> str: ...  # noqa: N802
    def nvmlDeviceGetMemoryInfo(self, handle: Handle, version: int | None = None) -> Memory: ...  # noqa: N802
    def nvmlDeviceGetCudaComputeCapability(self, handle: Handle) -> tuple[int, int]: ...  # noqa: N802
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[NvmlProcess]: ...  # noqa: N802
    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Handle) -> list[NvmlProcess]: ...  # noqa: N802
    def nvmlDeviceGetP2PStatus(self, one: Handle, other: Handle, index: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetNvLinkState(self, handle: Handle, link: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetDisplayActive(self, handle: Handle) -> int: ...  # noqa: N802
    def nvmlDeviceGetMigMode(self, handle: Handle) -> list[int]: ...  # noqa: N802


def read_cards(nvml: Nvml, visible: str | None = None) -> tuple[Gpu, ...] | GpusUnknown:
    """Every card that the driver shows, cut down to CUDA_VISIBLE_DEVICES where `visible` gives one."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return GpusUnknown(tr("gpus.no_driver"), str(error))
    try:
        cards = _cards(nvml)
    except nvml.NVMLError as error:
        return GpusUnknown(tr("gpus.driver_failed"), str(error))
    finally:
        _asked(nvml, nvml.nvmlShutdown)
    return cards if visible is None else select_visible(cards, visible)


def _cards(nvml: Nvml) -> tuple[Gpu, ...]:
    driver = _asked(nvml, nvml.nvmlSystemGetDriverVersion) or ""
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    return tuple(_card(nvml, handles, index, driver) for index in range(len(handles)))


def _card(nvml: Nvml, handles: list[Handle], index: int, driver: str) -> Gpu:
    handle = handles[index]
    name = nvml.nvmlDeviceGetName(handle)
    total, free, unified = _memory(nvml, handle)
    kind = find_kind(name, total)
    mig = _asked(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle)[0])
    display = _asked(nvml, lambda: nvml.nvmlDeviceGetDisplayActive(handle))
    return Gpu(
        index=index,
        name=name,
        total_bytes=total,
        free_bytes=free,
        compute_capability=_asked(nvml, lambda: _pair(nvml.nvmlDeviceGetCudaComputeCapability(handle))),
        bandwidth_bytes_s=kind.bandwidth_bytes_s if kind else None,
        processes=_processes(nvml, handle),
        uuid=_asked(nvml, lambda: nvml.nvmlDeviceGetUUID(handle)) or "",
        driver=driver,
        p2p_peers=_peers(nvml, handles, index),
        nvlink=_asked(nvml, lambda: any(_link(nvml, handle, link) for link in range(18))),
        display=None if display is None else bool(display),
        mig=bool(mig),
        unified=unified,
    )


def _memory(nvml: Nvml, handle: Handle) -> tuple[int, int | None, bool]:
    """Total as CUDA will show it (NVML's less the driver's reserve), free, and whether it is the host's memory."""
    memory = _asked(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2))
    if memory is not None:
        return memory.total - memory.reserved, memory.free, False
    memory = _asked(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    if memory is not None:
        return memory.total, memory.free, False
    import psutil  # a card without memory of its own (GB10, Jetson)

    host = psutil.virtual_memory()
    return int(host.total), int(host.available), True


def _processes(nvml: Nvml, handle: Handle) -> tuple[GpuProcess, ...]:
    found: dict[int, GpuProcess] = {}
    for ask in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        for process in _asked(nvml, lambda ask=ask: ask(handle)) or []:  # type: ignore[misc]  # lambda default
            found[process.pid] = GpuProcess(process.pid, process.usedGpuMemory, _process_name(process.pid))
    return tuple(found.values())


def _process_name(pid: int) -> str | None:
    import psutil

    try:
        return str(psutil.Process(pid).name())
    except (psutil.Error, ValueError):
        return None


def _peers(nvml: Nvml, handles: list[Handle], index: int) -> tuple[int, ...] | None:
    reached = []
    for other, handle in enumerate(handles):
        if other != index:
            status = _asked(nvml, lambda to=handle: _p2p(nvml, handles[index], to))  # type: ignore[misc]
            if status is None:
                return None
            if status:
                reached.append(other)
    return tuple(reached)


def _p2p(nvml: Nvml, one: Handle, other: Handle) -> bool:
    return nvml.nvmlDeviceGetP2PStatus(one, other, _P2P_READ) == nvml.NVML_P2P_STATUS_OK


def _link(nvml: Nvml, handle: Handle, link: int) -> bool:
    return bool(_asked(nvml, lambda: nvml.nvmlDeviceGetNvLinkState(handle, link)))


def _pair(capability: tuple[int, int]) -> tuple[int, int]:
    return int(capability[0]), int(capability[1])


def _asked(nvml: Nvml, question: Callable[[], _T]) -> _T | None:
    """The answer, or None where this card or driver has none: older ones lack some questions altogether."""
    try:
        return question()
    except (nvml.NVMLError, AttributeError, TypeError):
        return None


def select_visible(cards: tuple[Gpu, ...], visible: str) -> tuple[Gpu, ...]:
    """The cards that CUDA_VISIBLE_DEVICES leaves, in its order; it stops at the first entry that it can't resolve."""
    chosen: list[Gpu] = []
    for entry in (word.strip() for word in visible.split(",")):
        match = [card for card in cards if entry == str(card.index) or (len(entry) > 4 and card.uuid.startswith(entry))]
        if not match or match[0] in chosen:
            break
        chosen.append(match[0])
    return tuple(chosen)


def visible_devices() -> str | None:
    """CUDA_VISIBLE_DEVICES of this process, None where it is not set."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")
