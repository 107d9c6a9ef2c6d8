"""What an engine that answers really takes: from its log, its metrics and /proc, in the ledger's own words."""

from __future__ import annotations

from fitserve.observe.http import request
from fitserve.observe.metrics import cache_info
from fitserve.run.deployment import Deployment
from fitserve.run.edges import GpuMemory
from fitserve.run.processes import memory_bytes
from fitserve.units import GIB

_TIMEOUT_S = 5.0


class EngineMeter:
    """Measures once, when the engine has answered."""

    def __init__(self, gpu: GpuMemory) -> None:
        self._gpu = gpu

    def measure(self, deployment: Deployment, pids: tuple[int, ...], figures: dict[str, object]) -> dict[str, object]:
        """`weights_bytes`, `kv_bytes`, `kv_blocks`, `kv_tokens`, `concurrency`, `memory_bytes`, and the log's figures.

        None is unknown. `weights_bytes` is as fine as the log's two decimals of a GiB; `memory_bytes` is what all of
        the engine's processes take where it computes: of the cards, or of the host, shared pages counted once.
        """
        cache = cache_info(request(deployment, "/metrics", _TIMEOUT_S).text)
        sizes = [memory_bytes(pid) for pid in pids] if "cpu" in deployment.engine else self._held(pids)
        return {
            "weights_bytes": _bytes(figures.get("weights_gib")),
            "kv_bytes": _bytes(figures.get("available_kv_gib")),
            "kv_blocks": _number(cache.get("num_gpu_blocks")) or figures.get("kv_blocks"),
            "kv_tokens": figures.get("kv_tokens") or _number(cache.get("kv_cache_size_tokens")),
            "concurrency": figures.get("concurrency"),
            "memory_bytes": _sum(sizes),
            "figures": figures,
        }

    def _held(self, pids: tuple[int, ...]) -> list[int | None]:
        """What these processes hold of each card; nothing where the driver does not name them."""
        return [holder.used_bytes for holder in self._gpu.holders() or () if holder.pid in pids]


def _bytes(gib: object) -> int | None:
    return int(gib * GIB) if isinstance(gib, (int, float)) else None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _sum(sizes: list[int | None]) -> int | None:
    """The sum, unknown where a single part is."""
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None
