"""Does one block fit into one step?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.text import tr

NAME = "block_within_step"


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:
    """0.17 to 0.26 assert block <= max_num_batched_tokens with prefix caching; every version wants seqs <= step."""
    step = settings.max_num_batched_tokens
    if settings.max_num_seqs > step:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_seqs_above_step", seqs=settings.max_num_seqs, step=step))
    hybrid = given.model.linear_attention is not None and settings.enable_prefix_caching
    if kv is None or not hybrid or kv.block_tokens <= step:
        return
    if given.rules.block_within_step:
        yield Check(NAME, CheckState.FAIL, tr("plan.check_block_above_step", block=kv.block_tokens, step=step))
