"""The service runs, and a request runs out of memory.

Sees: a failed allocation after the service was up.
Why: what is not profiled must fit into the reserve: prefill buffers of recurrent layers, a picture larger than the
profiled one, prompt log-probabilities (tokens x vocabulary), communicators that open late, fragmentation.
Disproved by: «Triton Error» in place of torch's sentence (kernel tuning), or memory that grew for hours before.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import (
    environment,
    fewer_batched_tokens,
    lower_utilization,
    shorter_length,
    smaller_images,
    step,
)
from fitserve.diagnose.oom import Oom
from fitserve.diagnose.rule import Rule
from fitserve.diagnose.rules._memory import finding, oom

CAUSE = "oom_runtime"
_PICTURE = {"_execute_mm_encoder", "execute_mm_encoder", "embed_multimodal", "get_multimodal_embeddings"}
_BRIM = 0.95  # from here on the share itself is the first suspect
_LOGPROBS = {"_get_prompt_logprobs_dict", "compute_logprobs", "gather_logprobs"}


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    return None if found is None else finding(case, found, _fixes(case, found))


def _fixes(case: Case, found: Oom) -> list[Fix | None]:
    names = found.failure.functions
    room = lower_utilization(case, case.figure("asked_gib"))
    if names & _PICTURE:
        profiled = step("profile_pictures") if case.settings.get("--skip-mm-profiling") is True else None
        return [smaller_images(case), profiled, room]
    if names & _LOGPROBS:
        return [step("no_prompt_logprobs"), fewer_batched_tokens(case, 2048), room]
    step_size = fewer_batched_tokens(case, 2048)
    order = [room, step_size] if case.utilization >= _BRIM else [step_size, room]
    fixes = [_fragmentation(case, found), *order]
    length = case.number("--max-model-len")
    return [*fixes, shorter_length(case, int(length * 0.94) if length else None)]


def _fragmentation(case: Case, found: Oom) -> Fix | None:
    reserved, asked = case.figure("torch_reserved_gib"), case.figure("asked_gib")
    if reserved is None or asked is None or reserved <= asked:
        return None
    name = "PYTORCH_ALLOC_CONF" if "PYTORCH_ALLOC_CONF" in found.failure.text else "PYTORCH_CUDA_ALLOC_CONF"
    return environment("expandable_segments", **{name: "expandable_segments:True"})


RULE = Rule(CAUSE, (), judge)
