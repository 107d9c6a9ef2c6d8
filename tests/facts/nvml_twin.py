"""NVML as recorded: two 3090s; questions that an older driver has no answer to fail as they do there."""

from __future__ import annotations

from dataclasses import dataclass, field


class NVMLError(Exception):
    """NVML's own failure."""


@dataclass
class Memory:
    total: int
    free: int
    reserved: int = 0


@dataclass
class Process:
    pid: int
    usedGpuMemory: int | None  # noqa: N815 - NVML's name


@dataclass
class NvmlTwin:
    """Handles are indices."""

    names: list[str] = field(default_factory=lambda: ["NVIDIA GeForce RTX 3090"] * 2)
    total: int = 24576 * 1024**2
    reserved: int = 24576 * 1024**2 - 25295323136
    free: int = 23 * 1024**3
    capability: tuple[int, int] = (8, 6)
    processes: dict[int, list[Process]] = field(default_factory=dict)
    links: bool = True
    p2p_status: int = 0
    silent: set[str] = field(default_factory=set)  # questions without an answer
    driver_away: bool = False
    NVMLError: type[Exception] = NVMLError
    NVML_P2P_CAPS_INDEX_READ: tuple[int] = (0,)  # as pynvml has it, which NVML itself refuses
    NVML_P2P_STATUS_OK: int = 0
    nvmlMemory_v2: int = 0x02000028  # noqa: N815
    open: int = 0

    def _answers(self, question: str) -> None:
        if question in self.silent:
            raise NVMLError("Not Supported")

    def nvmlInit(self) -> None:  # noqa: N802
        if self.driver_away:
            raise NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.142"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        self._answers("count")
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> object:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return self.names[handle]

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-000{handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Memory:  # noqa: N802
        self._answers("memory")
        if version is not None:
            self._answers("memory_v2")
        return Memory(self.total, self.free, self.reserved)

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:  # noqa: N802
        self._answers("capability")
        return self.capability

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Process]:  # noqa: N802
        self._answers("processes")
        return self.processes.get(handle, [])

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: int) -> list[Process]:  # noqa: N802
        self._answers("processes")
        return []

    def nvmlDeviceGetP2PStatus(self, one: int, other: int, index: int) -> int:  # noqa: N802
        self._answers("p2p")
        assert isinstance(index, int), "ctypes.ArgumentError: argument 3"
        return self.p2p_status

    def nvmlDeviceGetNvLinkState(self, handle: int, link: int) -> int:  # noqa: N802
        self._answers("nvlink")
        return int(self.links and link < 4)

    def nvmlDeviceGetDisplayActive(self, handle: int) -> int:  # noqa: N802
        self._answers("display")
        return 0

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:  # noqa: N802
        self._answers("mig")
        return [0, 0]
