"""Are there as many state blocks as sequences?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "sequences_have_state"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:
    """With full graphs of a hybrid, `max_num_seqs` above the blocks is an error (config/compilation.py)."""
    if kv is None or not kv.blocks or given.model.linear_attention is None:
        return
    seqs, blocks = settings.max_num_seqs, kv.blocks
    if seqs <= blocks:
        yield Check(NAME, CheckState.OK, tr("plan.check_state_enough", seqs=seqs, blocks=blocks))
        return
    fatal = not given.on_cpu and not settings.enforce_eager and given.rules.graph_state_check
    state = CheckState.FAIL if fatal else CheckState.WARN
    yield Check(NAME, state, tr("plan.check_state_short", seqs=seqs, blocks=blocks))
