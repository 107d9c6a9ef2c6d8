"""The KV cache is smaller than one request of the longest length.

Sees: «To serve at least one request …» (0.8.5 and later), «larger than the maximum number of tokens that can be
stored in KV cache» (before).
Why: what is left of the share after weights, activations and graphs is less than one request of `max_model_len`
needs; hybrids need state blocks besides. Without `--max-model-len` the checkpoint's own maximum is taken.
Disproved by: a KV cache whose concurrency is printed as 1.0x or more.
"""

from __future__ import annotations

from dataclasses import replace

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import automatic_length, fewer_batched_tokens, half_kv, raise_utilization, shorter_length
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import complained, finding
from fitserve.stage import Stage
from fitserve.text import tr

CAUSE = "kv_below_max_len"
_GAP = 0.35  # of what is needed: a larger gap is not closed by more utilization


def judge(case: Case) -> Finding | None:
    seen = complained(case, "kv_short", "kv_short_tokens")
    if seen is None:
        return None
    needed, available = case.figure("needed_kv_gib"), case.figure("available_kv_gib")
    length = _fitting(case)
    shorter = shorter_length(case, length, predicted=_shorter(length, available)) if length else automatic_length(case)
    more = raise_utilization(case, needed - available if needed and available is not None else None)
    close = needed is None or available is None or needed - available <= _GAP * needed
    cheap = fewer_batched_tokens(case, 2048) if available is not None and available < 1 else None
    fixes = [more, shorter, cheap or half_kv(case)] if close else [shorter, half_kv(case), more]
    figures = ("needed_kv_gib", "available_kv_gib", "weights_gib", "graph_estimate_gib")
    found = finding(case, CAUSE, Stage.KV_ALLOC, [seen], fixes, figures=figures)
    numbers = _numbers(needed, available, case.figure("max_model_len"))
    return replace(found, summary=numbers) if numbers else found


def _numbers(needed: float | None, available: float | None, length: float | None) -> str:
    if needed is None or available is None or length is None:
        return ""
    return tr("causes.kv_below_max_len_numbers", needed=needed, available=available, length=int(length))


def _fitting(case: Case) -> int | None:
    """The longest length that fits: vLLM's estimate, the cache's tokens, or the length in proportion."""
    estimate = case.figure("estimated_max_len")
    if estimate:
        return int(estimate)
    tokens = [int(hit.groups[1] or 0) for hit in case.hits("kv_short_tokens")]
    if tokens:
        return tokens[0]
    needed, available, length = (
        case.figure("needed_kv_gib"),
        case.figure("available_kv_gib"),
        case.figure("max_model_len"),
    )
    if not length:
        return None
    if not needed or not available:
        return None
    return int(length * max(0.0, available / needed) * 0.97) // 256 * 256 or None


def _shorter(length: int | None, available: float | None) -> dict[str, object] | None:
    if length is None or available is None:
        return None
    return {"available_kv_gib": available, "max_model_len": length, "fits": True, "basis": tr("fixes.basis_estimate")}


RULE = Rule(
    CAUSE,
    (
        see("kv_short", "serve", r"To serve at least one request with the model"),
        see(
            "kv_short_tokens",
            "stored",
            r"max(?:imum)? seq len \((\d{1,12})\) is larger than the maximum number of tokens "
            r"that can be stored in KV "
            r"cache \((\d{1,12})\)",
        ),
    ),
    judge,
)
