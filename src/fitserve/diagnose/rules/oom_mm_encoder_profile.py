"""The worst picture or video that the processor allows does not fit while it is profiled.

Sees: a failed allocation in the vision encoder under `profile_run`, or straight after «Encoder cache will be
initialized» or the warning that multi-modal embeddings do not fit the profiling sequence.
Why: the encoder is measured with the largest items that the limits allow (a Qwen processor: 65,536 patches a picture;
each modality that is not limited counts, video too).
Disproved by: frames of the language pass (`_dummy_run`) or a compilation line after the encoder's line.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import fewer_sequences, limit_media, smaller_images
from fitserve.diagnose.rule import Rule
from fitserve.diagnose.rules._memory import finding, oom

CAUSE = "oom_mm_encoder_profile"


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None:
        return None
    return finding(case, found, [limit_media(case), smaller_images(case), fewer_sequences(case, 64)])


RULE = Rule(CAUSE, (), judge)
