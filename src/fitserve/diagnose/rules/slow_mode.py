"""It works, and slower than it could.

Sees: eager mode on a GPU, an AWQ path that is not optimized, kernels compiled while requests wait.
Why: without graphs every step launches thousands of kernels from Python (measured: 2x to 19x at one user); plain AWQ
kernels dequantize; a kernel that was not warmed up is compiled in the first request.
Disproved by: the same throughput without the flag.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix, Severity
from fitserve.diagnose.fixes import drop, make, step
from fitserve.diagnose.rule import Rule, remark, see
from fitserve.diagnose.rules._plain import finding, first
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "slow_mode"


def judge(case: Case) -> Finding | None:
    if case.failures or case.cpu or first(case, "cpu_engine"):
        return None
    stage = case.start.stage or Stage.SERVE
    notes = case.noted("slow_note")[:1]
    if case.eager:
        eager = first(case, "eager_notice") or first(case, "eager_args")
        seen = [eager] if eager else []
        return _say(case, stage, [*seen, *notes], [make({"--enforce-eager": None}, "drop_eager")], "slow_eager")
    plain = first(case, "plain_kernel")
    if plain is not None:
        fixes = [drop(case, "--quantization", "drop_quantization"), step("newer_engine")]
        return _say(case, stage, [plain, *notes], fixes, "slow_kernel")
    late = first(case, "late_jit")
    if late is not None:
        return _say(case, Stage.SERVE, [late, *notes], [step("keep_compile_cache"), step("newer_engine")], "slow_jit")
    if notes:
        return _say(case, stage, [*case.hits("slow_hint")[:2], *notes], [step("measure_settings")], CAUSE)
    return None


def _say(case: Case, stage: Stage, seen: list[Hit], fixes: list[Fix | None], key: str) -> Finding:
    return finding(case, CAUSE, stage, seen, fixes, severity=Severity.INFO, key=key)


RULE = Rule(
    CAUSE,
    (
        see("eager_args", "enforce_eager", r"['\"]?enforce_eager['\"]?[:=] ?True"),
        see(
            "cpu_engine",
            "cpu cpu_worker gloo node",
            r"CPU KV cache size|backend=gloo|device_config=cpu|KV cache on node",
        ),
        see(
            "plain_kernel",
            "awq gptq quantization degrade emulation unoptimized",
            r"(?:awq|gptq) quantization is not fully optimized|Falling back to unoptimized|EMULATION|"
            r"may degrade performance",
        ),
        see("slow_hint", "optimal sub implementation fallback falling", r"sub-optimal|not be optimal|falling back"),
        remark(
            "slow_note",
            "slow slower tok tokens slowly latency throughput cjk",
            r"(?i)\bslow|\d (?:tok|tokens)/s|latency|low throughput|minutes? (?:for|to|until)|很慢|太慢|变慢",
        ),
        see("late_jit", "inference", r"JIT compilation during inference|during inference: .{0,400}latency spike"),
    ),
    judge,
)
