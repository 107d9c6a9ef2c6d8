"""The weights fit, the profiling pass of the language model does not.

Sees: a failed allocation under `profile_run` outside the vision encoder, or after «Model loading took» and before the
KV cache is sized.
Why: the pass runs `max_num_batched_tokens` tokens and `max_num_seqs` rows of logits at once; mixtures of experts add
workspaces of tokens x top-k. A wish of over 1 MiB a token is no activation: compilation then copies a constant (a
large embedding table), and only that can be switched off.
Disproved by: vision frames in the traceback (pictures), or «Overriding num_gpu_blocks=0» before it (the graph probe).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import eager, fewer_batched_tokens, fewer_sequences, shorter_length
from fitserve.diagnose.oom import SAMPLER_FILE
from fitserve.diagnose.rule import Rule
from fitserve.diagnose.rules._memory import finding, oom

CAUSE = "oom_profile_activation"
_PER_TOKEN_GIB = 1 / 1024  # more than any layer keeps for one token


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None:
        return None
    if _copies_a_constant(case):
        return finding(case, found, [eager(case, "eager_constant"), fewer_batched_tokens(case, 512)])
    if any(SAMPLER_FILE.search(frame.file) for frame in found.failure.frames):
        return finding(case, found, [fewer_sequences(case, 64), fewer_batched_tokens(case, 2048)])
    old = case.at_least(0, 8) is False  # one prompt of max_model_len is profiled there
    fixes = [
        shorter_length(case, 4096) if old else None,
        fewer_batched_tokens(case, 2048),
        fewer_sequences(case, 64),
        shorter_length(case, 32768),
    ]
    return finding(case, found, fixes)


def _copies_a_constant(case: Case) -> bool:
    asked, tokens = case.figure("asked_gib"), case.number("--max-num-batched-tokens")
    return bool(asked and tokens) and not case.eager and (asked or 0) > _PER_TOKEN_GIB * (tokens or 0)


RULE = Rule(CAUSE, (), judge)
