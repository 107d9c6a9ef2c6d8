"""One engine from its start to its end: the command, the wait until it answers a picture, the log, the stop."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import client

from fitserve.engines.launch import CLOSED, OFFLINE, READABLE
from fitserve.plan.flags import command
from fitserve.plan.settings import Settings

ON_GPU = {"VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_LOGGING_CONFIG_PATH": str(Path(__file__).parent / "logging.json")}
GPU_FLAGS = ("--gdn-prefill-backend", "triton")  # FlashInfer is not on such a host
DUMMY_FLAGS = ("--load-format", "dummy")


@dataclass(frozen=True)
class Started:
    """Seconds from the process's start; None where it did not come so far. `exit_code` where it ended by itself."""

    healthy_s: float | None = None
    answered_s: float | None = None
    answer: str = ""
    exit_code: int | None = None


class Engine:
    """A running engine with a log of its own."""

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], log: Path, url: str) -> None:
        self.url, self._began = url, time.monotonic()
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                argv, env={**os.environ, **env}, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self, until: float) -> Started:
        """Until it answers a picture, ends, or the clock says `until`. `/health` alone proves little."""
        healthy, attempt = None, 0
        while time.monotonic() < until:
            code = self.process.poll()
            if code is not None:
                return Started(healthy, exit_code=code)
            if healthy is None and client.healthy(self.url):
                healthy = self.age()
            if healthy is not None:
                reply = client.ask_square(self.url, attempt)
                attempt += 1
                if reply.status == 200:
                    return Started(healthy, self.age(), reply.answer[:200])
            time.sleep(0.25)
        return Started(healthy)

    def age(self) -> float:
        """Seconds since the start."""
        return round(time.monotonic() - self._began, 2)

    def stop(self) -> float:
        """End the whole session; seconds until it was gone."""
        began = time.monotonic()
        for sign, patience_s in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(patience_s)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        return round(time.monotonic() - began, 2)


def argv_of(settings: Settings, python: str, model: Path, port: int, extra: tuple[str, ...]) -> tuple[str, ...]:
    """The plan's own command, the engine's interpreter in front."""
    return (python, *command(settings, str(model), "127.0.0.1", port)[1:], *extra)


def env_of(gpus: tuple[int, ...], own: dict[str, str]) -> dict[str, str]:
    """What fitserve sets, what this host needs, and the case's own."""
    on_gpu = {**ON_GPU, "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))} if gpus else {"VLLM_CPU_KVCACHE_SPACE": "1"}
    return {**CLOSED, **READABLE, **OFFLINE, **on_gpu, **own}
