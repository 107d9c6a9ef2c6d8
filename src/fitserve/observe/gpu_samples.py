"""The cards at one moment: memory, load, heat, power, clocks and who holds what, as far as each driver answers.

A question that a card does not answer is None, never 0: consumer cards hide some figures, containers hide processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar, cast

from fitserve.clock import Clock, SystemClock
from fitserve.facts.gpu import GpuProcess
from fitserve.facts.nvml import Handle, Memory, NvmlProcess
from fitserve.observe.host_samples import HostSample, sample_host

# NVML's own numbers
_TEMPERATURE_GPU, _SLOWS_DOWN_AT = 0, 1
_SM, _MEMORY = 1, 2
_REASONS = {
    0x001: "idle",
    0x002: "application_clocks",
    0x004: "power_cap",
    0x008: "hardware_slowdown",
    0x010: "sync_boost",
    0x020: "software_thermal",
    0x040: "hardware_thermal",
    0x080: "power_brake",
    0x100: "display_clocks",
}
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"  # the kernel's fixed number for it
_T = TypeVar("_T")


@dataclass(frozen=True)
class CardSample:
    """One card. Bytes as NVML counts them: used + free + reserved = total; CUDA's total is total less reserved.

    `reserved_bytes` is None where the driver counts it among the used. `slow_reasons` are why the clocks are not
    higher: `idle`, `power_cap`, `hardware_thermal` and their like. A process's bytes are None where they are hidden.
    """

    index: int
    name: str = ""
    uuid: str = ""
    total_bytes: int | None = None
    used_bytes: int | None = None
    reserved_bytes: int | None = None
    busy_percent: int | None = None  # of the last sampling period in which any kernel ran
    memory_busy_percent: int | None = None
    temperature_c: int | None = None
    slows_down_at_c: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    slow_reasons: tuple[str, ...] | None = None
    processes: tuple[GpuProcess, ...] | None = None


@dataclass(frozen=True)
class Sample:
    """Everything at one moment of the wall clock. `cards` is None where no driver answers."""

    at: float
    cards: tuple[CardSample, ...] | None
    host: HostSample


class Sampler(Protocol):
    """Looks once; `pids` are the engine's processes. None: a recording has come to its end."""

    def sample(self, pids: Sequence[int] = ()) -> Sample | None: ...


class NvmlUtilization(Protocol):
    """Per cent of the time."""

    gpu: int
    memory: int


class SampleNvml(Protocol):
    """The part of pynvml that a sample asks; older drivers and consumer cards lack some of it."""

    NVMLError: type[Exception]
    nvmlMemory_v2: int  # noqa: N815 - NVML's name, as all below

    def nvmlInit(self) -> None: ...  # noqa: N802
    def nvmlShutdown(self) -> None: ...  # noqa: N802
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: N802
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Handle: ...  # noqa: N802
    def nvmlDeviceGetName(self, handle: Handle) -> str: ...  # noqa: N802
    def nvmlDeviceGetUUID(self, handle: Handle) -> str: ...  # noqa: N802
    def nvmlDeviceGetMemoryInfo(self, handle: Handle, version: int | None = None) -> Memory: ...  # noqa: N802
    def nvmlDeviceGetUtilizationRates(self, handle: Handle) -> NvmlUtilization: ...  # noqa: N802
    def nvmlDeviceGetTemperature(self, handle: Handle, sensor: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetTemperatureThreshold(self, handle: Handle, threshold: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetPowerUsage(self, handle: Handle) -> int: ...  # noqa: N802
    def nvmlDeviceGetEnforcedPowerLimit(self, handle: Handle) -> int: ...  # noqa: N802
    def nvmlDeviceGetClockInfo(self, handle: Handle, clock: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetMaxClockInfo(self, handle: Handle, clock: int) -> int: ...  # noqa: N802
    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: Handle) -> int: ...  # noqa: N802
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[NvmlProcess]: ...  # noqa: N802
    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: Handle) -> list[NvmlProcess]: ...  # noqa: N802


class NvmlSampler:
    """The real one: NVML for the cards, /proc for the host. NVML is opened when it is needed, again after a failure."""

    def __init__(self, nvml: SampleNvml | None = None, clock: Clock | None = None, root: Path = Path("/")) -> None:
        self._nvml, self._clock, self._root = nvml or _pynvml(), clock or SystemClock(), root
        self._cards: list[tuple[Handle, CardSample]] | None = None  # what does not change is asked once

    def sample(self, pids: Sequence[int] = ()) -> Sample:
        """As `Sampler`; a real one never ends."""
        host = sample_host(pids, self._root)
        return Sample(round(self._clock.now(), 3), self._sampled(), host)

    def _sampled(self) -> tuple[CardSample, ...] | None:
        cards = self._opened()
        if cards is None:
            return None
        found = tuple(self._card(handle, still) for handle, still in cards)
        if found and all(card.used_bytes is None and card.temperature_c is None for card in found):
            self._asked(self._nvml.nvmlShutdown)  # the driver was reloaded: its handles are stale
            self._cards = None
        return found

    def _opened(self) -> list[tuple[Handle, CardSample]] | None:
        if self._cards is None:
            try:
                self._nvml.nvmlInit()
                self._cards = [self._still(index) for index in range(self._nvml.nvmlDeviceGetCount())]
            except self._nvml.NVMLError:
                return None
        return self._cards

    def _still(self, index: int) -> tuple[Handle, CardSample]:
        nvml, handle = self._nvml, self._nvml.nvmlDeviceGetHandleByIndex(index)
        return handle, CardSample(
            index,
            name=self._asked(lambda: nvml.nvmlDeviceGetName(handle)) or "",
            uuid=self._asked(lambda: nvml.nvmlDeviceGetUUID(handle)) or "",
            # some drivers answer 0 for a limit that they do not know
            slows_down_at_c=self._asked(lambda: nvml.nvmlDeviceGetTemperatureThreshold(handle, _SLOWS_DOWN_AT)) or None,
            sm_clock_max_mhz=self._asked(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, _SM)) or None,
        )

    def _card(self, handle: Handle, still: CardSample) -> CardSample:
        nvml = self._nvml
        rates = self._asked(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        power = self._asked(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        limit = self._asked(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
        bits = self._asked(lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
        total, used, reserved = self._memory(handle)
        return replace(
            still,
            total_bytes=total,
            used_bytes=used,
            reserved_bytes=reserved,
            busy_percent=rates.gpu if rates else None,
            memory_busy_percent=rates.memory if rates else None,
            temperature_c=self._asked(lambda: nvml.nvmlDeviceGetTemperature(handle, _TEMPERATURE_GPU)),
            power_w=None if power is None else power / 1000,
            power_limit_w=None if limit is None else limit / 1000,
            sm_clock_mhz=self._asked(lambda: nvml.nvmlDeviceGetClockInfo(handle, _SM)),
            memory_clock_mhz=self._asked(lambda: nvml.nvmlDeviceGetClockInfo(handle, _MEMORY)),
            slow_reasons=None if bits is None else reasons(bits),
            processes=self._processes(handle),
        )

    def _memory(self, handle: Handle) -> tuple[int | None, int | None, int | None]:
        """Total, used, reserved: the older question counts the driver's reserve among the used."""
        nvml = self._nvml
        memory = self._asked(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2))
        if memory is not None:
            return memory.total, memory.total - memory.free - memory.reserved, memory.reserved
        memory = self._asked(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        return (memory.total, memory.total - memory.free, None) if memory is not None else (None, None, None)

    def _processes(self, handle: Handle) -> tuple[GpuProcess, ...] | None:
        found: dict[int, GpuProcess] = {}
        answers = [
            self._asked(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)),
            self._asked(lambda: self._nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)),
        ]
        if answers[0] is None:
            return None
        for row in (row for answer in answers for row in answer or []):
            found[row.pid] = GpuProcess(row.pid, row.usedGpuMemory, self._name(row.pid))
        return tuple(found.values())

    def _name(self, pid: int) -> str | None:
        """The driver tells the host's pids; in a container they are somebody else's (NVIDIA/nvidia-docker#1483)."""
        try:
            if str((self._root / "proc/self/ns/pid").readlink()) != _INITIAL_PID_NAMESPACE:
                return None
            return (self._root / "proc" / str(pid) / "comm").read_text(errors="replace").strip() or None
        except OSError:
            return None

    def _asked(self, question: Callable[[], _T]) -> _T | None:
        """The answer, or None where this card or driver has none."""
        try:
            return question()
        except (self._nvml.NVMLError, AttributeError, TypeError):
            return None


def reasons(bits: int) -> tuple[str, ...]:
    """NVML's bit mask of clock event reasons by name; a bit that is newer than this list by its number."""
    set_bits = (1 << place for place in range(bits.bit_length()) if bits >> place & 1)
    return tuple(_REASONS.get(bit, f"0x{bit:x}") for bit in set_bits)


def _pynvml() -> SampleNvml:
    import pynvml

    return cast(SampleNvml, pynvml)
