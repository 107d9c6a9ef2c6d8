"""Is the cache of a CPU engine asked for in the words of a GPU engine?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "cpu_cache"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """VLLM_CPU_KVCACHE_SPACE, which fitserve always sets, stands above both flags (platforms/cpu.py)."""
    request = given.request
    asked = (request.kv_cache_memory_bytes, request.gpu_memory_utilization)
    if given.on_cpu and any(value is not None for value in asked):
        yield Check(NAME, CheckState.WARN, tr("plan.check_cpu_cache", gib=settings.cpu_kv_cache_space_gib))
