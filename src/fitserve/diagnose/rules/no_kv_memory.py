"""Nothing is left for the KV cache.

Sees: «No available memory for the cache blocks», «Cannot auto-fit max_model_len», a negative «Available KV cache
memory» with a failure, or the allocation of the sized cache failing.
Why: share x total is less than weights + peak activation + graph estimate. The usual eaters: a share that is small on
purpose, a worst-case video, a graph estimate that is absurd (118 GiB has been printed), on 0.8 and before the memory
of other processes, which was counted as this engine's.
Disproved by: a positive «Available KV cache memory» followed by a cache size.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import (
    HEADROOM_GIB,
    environment,
    fewer_batched_tokens,
    fewer_sequences,
    limit_media,
    lower_utilization,
    raise_utilization,
    smaller_images,
    weighed,
)
from fitserve.diagnose.oom import find_oom
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import complained, finding
from fitserve.stage import Stage

CAUSE = "no_kv_memory"
_ABSURD = 0.2  # of the card: no set of graphs takes that much


def judge(case: Case) -> Finding | None:
    seen = complained(case, "no_blocks", "no_auto_fit", "cpu_kv")
    oom = find_oom(case)
    figures = ("weights_gib", "available_kv_gib", "activation_peak_gib", "graph_estimate_gib", "encoder_budget_tokens")
    if seen is not None:
        return finding(case, CAUSE, Stage.KV_ALLOC, [seen], _fixes(case), figures=figures)
    if oom is not None and oom.cause == CAUSE:
        fixes = [_smaller_pool(case), lower_utilization(case, case.figure("asked_gib")), fewer_sequences(case, 64)]
        seen_oom = [oom.failure]
        return finding(
            case, CAUSE, oom.stage, seen_oom, fixes, figures=figures, key="kv_allocation", confidence=oom.confidence
        )
    if case.failures and not case.roots and (case.figure("available_kv_gib") or 1) <= 0:  # the sentence was cut away
        return finding(
            case, CAUSE, Stage.KV_ALLOC, case.failures[:1], _fixes(case), figures=figures, confidence=Confidence.MEDIUM
        )
    return None


def _fixes(case: Case) -> list[Fix | None]:
    available = case.figure("available_kv_gib")
    missing = 0.5 - available if available is not None and available <= 0 else None
    more = raise_utilization(case, missing)
    media = [limit_media(case), smaller_images(case)] if _pictures(case) else []
    estimate = environment("ignore_estimate", VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="0") if _absurd(case) else None
    ordered = (
        [estimate, more, *media] if case.utilization < 0.6 or not media else [estimate, *media[:1], more, *media[1:]]
    )
    return [*ordered, fewer_sequences(case, 64), fewer_batched_tokens(case, 2048)]


def _smaller_pool(case: Case) -> Fix | None:
    """A fixed cache that the card has room for: what is free, and what of the cache was there already."""
    pinned, free = case.number("--kv-cache-memory-bytes"), case.figure("free_gib")
    if not pinned or free is None:
        return None
    allocated, weights = case.figure("torch_allocated_gib"), case.figure("weights_gib")
    begun = max(0.0, allocated - weights) if allocated is not None and weights is not None else 0.0
    size = min(0.95 * pinned / 2**30, free + begun - HEADROOM_GIB)
    if size <= 0:
        return None
    predicted: dict[str, object] = {"available_kv_gib": round(size, 2), "free_gib": free}
    return weighed({"--kv-cache-memory-bytes": int(size * 2**30)}, "smaller_pool", predicted, new=round(size, 2))


def _pictures(case: Case) -> bool:
    return case.figure("encoder_budget_tokens") is not None or bool(case.hits("mm_profile"))


def _absurd(case: Case) -> bool:
    estimate = case.figure("graph_estimate_gib")
    if case.at_least(0, 18) is False:
        return False
    return estimate is not None and estimate > max(8.0, _ABSURD * (case.total_gib or 40.0))


RULE = Rule(
    CAUSE,
    (
        see("no_blocks", "blocks", r"No available memory for the cache blocks"),
        see("no_auto_fit", "max_model_len", r"Cannot auto-fit max_model_len"),
        see(
            "cpu_kv",
            "allocation leaving",
            r"GiB\) on kv cache allocation is less than requested memory|leaving none for the KV cache",
        ),
    ),
    judge,
)
