"""The weights alone do not fit on a card.

Sees: a failed allocation in the frames that create, read or repack weights (`create_weights`, `load_model`,
`process_weights_after_loading`), or before «Model loading took».
Why: every rank holds its share of the weights, and 16-bit parts of a "4-bit" checkpoint stay 16 bit. Nothing is
reserved yet at this stage, so the utilization changes nothing.
Disproved by: «Model loading took» of the failing rank before the failure; or much memory of other processes on the
card.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import step, weighed
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._memory import finding, held_by_others, oom
from fitserve.diagnose.version import knows

CAUSE = "oom_weight_load"


def judge(case: Case) -> Finding | None:
    found = oom(case, CAUSE)
    if found is None or held_by_others(case):
        return None
    return finding(case, found, [_more_cards(case), _offload(case), step("smaller_checkpoint")])


def _more_cards(case: Case) -> Fix | None:
    tp = case.tp * 2
    key = "more_cards" if case.gpus is None or tp <= case.gpus else "more_cards_needed"
    return weighed({"--tensor-parallel-size": tp}, key, _shared(case, tp), new=tp)


def _offload(case: Case) -> Fix | None:
    if case.number("--cpu-offload-gb") or not knows(case, "--cpu-offload-gb"):
        return None
    total, weights = case.total_gib, case.figure("checkpoint_gib")
    missing = max(4, round(weights / case.tp - total + 4)) if total and weights else 8
    return weighed({"--cpu-offload-gb": missing}, "offload", None, new=missing)


def _shared(case: Case, tp: int) -> dict[str, object] | None:
    """Weights of a card when they are split further, from the checkpoint's size."""
    size, total = case.figure("checkpoint_gib"), case.total_gib
    if size is None or total is None:
        return None
    return {"weights_gib": round(size / tp, 2), "fits": size / tp < 0.9 * total, "basis": "checkpoint size"}


RULE = Rule(CAUSE, (see("load_sentence", "load", r"Failed to load model - not enough GPU memory"),), judge)
