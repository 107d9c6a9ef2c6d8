"""GPU memory through NVML. None throughout where there is no driver; a card that will not say counts as unknown."""

from __future__ import annotations

from typing import Any

from fitserve.run.edges import Holder


class NvmlMemory:
    """NVML, opened at the first question."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._tried = False

    def used_bytes(self) -> tuple[int, ...] | None:
        """Bytes in use on every card, in NVML's order."""
        nvml = self._open()
        if nvml is None:
            return None
        try:
            return tuple(int(nvml.nvmlDeviceGetMemoryInfo(card).used) for card in self._cards(nvml))
        except nvml.NVMLError:
            return None

    def holders(self) -> tuple[Holder, ...] | None:
        """Processes that hold memory on any card."""
        nvml = self._open()
        if nvml is None:
            return None
        try:
            found = [row for card in self._cards(nvml) for row in nvml.nvmlDeviceGetComputeRunningProcesses(card)]
        except nvml.NVMLError:
            return None
        return tuple(Holder(int(row.pid), row.usedGpuMemory) for row in found)

    def _cards(self, nvml: Any) -> list[Any]:  # noqa: ANN401 - NVML's handles have no type
        return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]

    def _open(self) -> Any:  # noqa: ANN401
        if not self._tried:
            self._tried = True
            self._nvml = _initialised()
        return self._nvml


def _initialised() -> Any:  # noqa: ANN401
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


class NoGpuMemory:
    """A machine without a driver."""

    def used_bytes(self) -> tuple[int, ...] | None:
        return None

    def holders(self) -> tuple[Holder, ...] | None:
        return None
