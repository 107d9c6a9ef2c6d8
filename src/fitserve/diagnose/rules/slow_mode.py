"""It works, and slower than it could.

Sees: eager mode on a GPU, an AWQ path that is not optimized, kernels compiled while requests wait.
Why: without graphs every step launches thousands of kernels from Python (measured: 2x to 19x at one user); plain AWQ
kernels dequantize; a kernel that was not warmed up is compiled in the first request.
Disproved by: the same throughput without the flag.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Severity
from fitserve.diagnose.fixes import drop, make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding, first
from fitserve.stage import Stage

CAUSE = "slow_mode"


def judge(case: Case) -> Finding | None:
    if case.failures or case.cpu or first(case, "cpu_engine"):
        return None
    stage = case.start.stage or Stage.SERVE
    eager = first(case, "eager_notice") or first(case, "eager_args")
    if case.eager:
        fixes = [make({"--enforce-eager": None}, "drop_eager")]
        seen = [eager] if eager else []
        return finding(case, CAUSE, stage, seen, fixes, severity=Severity.INFO, key="slow_eager")
    plain = first(case, "plain_awq")
    if plain is not None:
        return finding(
            case,
            CAUSE,
            stage,
            [plain],
            [drop(case, "--quantization", "drop_quantization"), step("newer_engine")],
            severity=Severity.INFO,
            key="slow_kernel",
        )
    late = first(case, "late_jit")
    return (
        None
        if late is None
        else finding(case, CAUSE, Stage.SERVE, [late], [step("newer_engine")], severity=Severity.INFO, key="slow_jit")
    )


RULE = Rule(
    CAUSE,
    (
        see("eager_args", "enforce_eager", r"['\"]?enforce_eager['\"]?[:=] ?True"),
        see("cpu_engine", "cpu cpu_worker gloo", r"CPU KV cache size|backend=gloo|device_config=cpu|KV cache on node"),
        see(
            "plain_awq",
            "awq quantization",
            r"(?:awq|gptq) quantization is not fully optimized|Falling back to unoptimized AWQ",
        ),
        see("late_jit", "jit", r"JIT compilation during inference"),
    ),
    judge,
)
