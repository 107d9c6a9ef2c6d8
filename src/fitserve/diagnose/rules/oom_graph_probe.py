"""The probe that measures graph memory does not fit: a throw-away cache before the real one is sized.

Sees: `profile_cudagraph_memory` or `_init_minimal_kv_cache_for_profiling` in the traceback; «Overriding
num_gpu_blocks=0» before the failure; or a cache allocation that fails before any size was printed, since 0.19.
Why: since 0.19 the probe allocates as many blocks as the largest captured batch (512 by default; 0.27 and later
min(max_num_seqs, largest)). A block of a hybrid model is one whole recurrent state, so this takes 2.6 to 24 GiB for a
moment, outside the budget: the utilization changes nothing, eager only avoids the probe.
Disproved by: «Available KV cache memory» before the failure.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import eager, fewer_sequences, pinned_pool, smaller_capture
from fitserve.diagnose.rule import Rule
from fitserve.diagnose.rules._memory import finding, oom

CAUSE = "oom_graph_probe"
_SEQUENCES, _LARGEST = 8, 16


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None:
        return None
    sequences = int(min(case.number("--max-num-seqs") or _SEQUENCES, _SEQUENCES))
    blocks = sequences if case.at_least(0, 26) else 2 * sequences
    fixes = [
        fewer_sequences(case, _SEQUENCES, "probe_sequences", _probe(case, blocks)),
        smaller_capture(case, _LARGEST, _probe(case, _LARGEST)),
        pinned_pool(case, _room(case)) or eager(case),
    ]
    return finding(case, found, fixes)


def _probe(case: Case, blocks: int) -> dict[str, object] | None:
    """Size of the probe after the change. One tensor's wish is known; their number is one a layer of a group."""
    asked = case.figure("asked_gib")
    now = case.figure("probe_blocks") or _blocks(case)
    if blocks >= now:
        return None
    predicted: dict[str, object] = {"probe_blocks": blocks, "was_blocks": int(now)}
    if asked is not None:  # of one tensor of the cache; there is one for each layer of a group
        predicted |= {"asked_gib": round(asked * blocks / now, 3), "was_gib": round(asked, 3)}
    return predicted


def _blocks(case: Case) -> float:
    """Blocks of the probe by version: 512, from 0.27 on the number of sequences (256)."""
    sequences = case.number("--max-num-seqs") or 256
    return min(sequences, 512) if case.at_least(0, 26) else min(2 * sequences, 512)


def _room(case: Case) -> int:
    """Bytes that the share leaves beside the weights, with a third of it kept for activations."""
    weights, total = case.figure("weights_gib"), case.total_gib
    if weights is None or total is None:
        return 0
    return int(max(0.0, (total * case.utilization - weights - 1.5) * 0.66) * 2**30)


RULE = Rule(CAUSE, (), judge)
