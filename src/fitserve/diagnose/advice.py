"""The one change that `up` may try by itself after a start that failed for memory."""

from __future__ import annotations

from fitserve.diagnose.finding import Diagnosis, Fix, Severity

MEMORY = frozenset(
    {
        "oom_weight_load",
        "oom_profile_activation",
        "oom_mm_encoder_profile",
        "oom_graph_probe",
        "oom_graph_capture",
        "oom_first_request_jit",
        "oom_runtime",
        "no_kv_memory",
        "kv_below_max_len",
        "mamba_blocks_below_seqs",
    }
)


def memory_fix(diagnosis: Diagnosis) -> Fix | None:
    """The fix with the least loss whose predicted ledger fits; None where memory is not the cause or nothing fits.

    Eager mode comes last, whatever its place in the list.
    """
    first = diagnosis.findings[0] if diagnosis.findings else None
    if first is None or first.severity is not Severity.FATAL or first.cause not in MEMORY:
        return None
    fitting = [fix for fix in first.fixes if fix.set and (fix.predicted or {}).get("fits") is True]
    return min(fitting, key=lambda fix: "--enforce-eager" in fix.set, default=None)
