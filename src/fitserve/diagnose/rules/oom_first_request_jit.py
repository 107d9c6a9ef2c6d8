"""The service starts, and its first request runs out of memory while a kernel is tuned.

Sees: «Triton Error [CUDA]: out of memory» or the autotuner's frames (`_bench`, `do_bench`) in a request.
Why: the profiling pass skips the recurrent layers' kernels; Triton tunes them at the first prefill, outside torch's
pool, when the KV cache has taken the room. Up to 0.18 there is no warm-up for them. It has nothing to do with the
quantization or with graphs, though eager often hides it.
Disproved by: torch's own sentence «Tried to allocate» (an allocation of the model itself).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import fewer_batched_tokens, lower_utilization, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._memory import finding, oom

CAUSE = "oom_first_request_jit"


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None:
        return None
    upgrade = None if case.at_least(0, 19) else step("upgrade_warmup")
    return finding(case, found, [lower_utilization(case, 1.2), upgrade, fewer_batched_tokens(case, 2048)])


_WARMUP = see("gdn_warmup_failed", "gdn", r"GDN prefill kernel warmup .{0,40} failed for layer")
RULE = Rule(CAUSE, (_WARMUP,), judge)
