"""NVML as recorded, with what a sample asks beside what the facts ask."""

from __future__ import annotations

from dataclasses import dataclass

from facts.nvml_twin import NvmlTwin


@dataclass
class Rates:
    gpu: int = 87
    memory: int = 41


@dataclass
class SampleNvmlTwin(NvmlTwin):
    """Answers as a busy card does; `silent` holds the questions without an answer."""

    temperature: int = 71
    reasons: int = 0x4
    slows_down_at: int = 95

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Rates:  # noqa: N802
        self._answers("rates")
        return Rates()

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
        self._answers("temperature")
        return self.temperature

    def nvmlDeviceGetTemperatureThreshold(self, handle: int, threshold: int) -> int:  # noqa: N802
        self._answers("threshold")
        return self.slows_down_at

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        self._answers("power")
        return 349_500

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:  # noqa: N802
        self._answers("power_limit")
        return 350_000

    def nvmlDeviceGetClockInfo(self, handle: int, clock: int) -> int:  # noqa: N802
        self._answers("clock")
        return {1: 1695, 2: 9751}[clock]

    def nvmlDeviceGetMaxClockInfo(self, handle: int, clock: int) -> int:  # noqa: N802
        self._answers("max_clock")
        return {1: 2100, 2: 9751}[clock]

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:  # noqa: N802
        self._answers("reasons")
        return self.reasons
