"""Whether a start with given settings fits, at each end of the intervals, and what stops it where it does not."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.plan.captures import captures
from fitserve.plan.gpu_rows import RankLedger
from fitserve.plan.kv import capacity
from fitserve.plan.plan import KvPlan, Verdict
from fitserve.text import tr
from fitserve.units import format_gib

LOW, EXPECTED, HIGH = "low", "expected", "high"


@dataclass(frozen=True)
class Judgement:
    """The verdict, the cache at the expected point, and the first obstacle at the bad end."""

    verdict: Verdict
    kv: KvPlan | None
    obstacle: str = ""

    @property
    def fits(self) -> bool:
        """Even at the high end of every interval."""
        return self.verdict is Verdict.FITS


def judge(rank: RankLedger) -> Judgement:
    """Fits if nothing stops it where all is high; tight if nothing does where all is low, or the cache is not known."""
    kv = cache_at(rank, EXPECTED)
    worst = obstacle(rank, HIGH)
    if not worst and not rank.given.model.tensors and not rank.weights:
        return Judgement(Verdict.TIGHT, kv, tr("plan.weights_unknown"))
    if not worst and kv is None:
        return Judgement(Verdict.TIGHT, kv, tr("plan.cache_unknown"))
    if not worst:
        return Judgement(Verdict.FITS, kv)
    best = obstacle(rank, LOW)
    return Judgement(Verdict.DOES_NOT_FIT, kv, best) if best else Judgement(Verdict.TIGHT, kv, worst)


def obstacle(rank: RankLedger, end: str) -> str:
    """What stops a start when every interval stands at `end`, the first that a start meets; '' for nothing."""
    for find in (_weights, _snapshot, _loading, _probe, _cache, _states, _outside):
        found = find(rank, end)
        if found:
            return found
    return ""


def cache_at(rank: RankLedger, end: str) -> KvPlan | None:
    """The cache when every other item stands at `end`."""
    layout = rank.given.layout(rank.settings)
    if layout is None:
        return None
    pool = {LOW: rank.pool.high, EXPECTED: rank.pool.expected, HIGH: rank.pool.low}[end]
    shape = rank.given.request_shape(rank.settings)
    return capacity(layout, pool, rank.settings.max_model_len, shape, rank.given.rules.tokens_by_group)


def _weights(rank: RankLedger, end: str) -> str:  # noqa: ARG001 - exact at both ends
    if rank.weights <= rank.budget or rank.settings.kv_cache_memory_bytes is not None:
        return ""
    return tr("plan.over_weights", need=format_gib(rank.weights), have=format_gib(rank.budget))


def _snapshot(rank: RankLedger, end: str) -> str:
    """`request_memory` wants the budget free after the context was made, with a fixed cache too."""
    held = getattr(rank.context, end)
    if rank.budget <= rank.free - held:
        return ""
    return tr(
        "plan.over_free",
        budget=format_gib(rank.budget),
        free=format_gib(rank.free - held),
        share=rank.settings.gpu_memory_utilization,
    )


def _loading(rank: RankLedger, end: str) -> str:
    need = rank.weights + getattr(rank.repack, end) + getattr(rank.context, end)
    return tr("plan.over_repack", need=format_gib(need), have=format_gib(rank.free)) if need > rank.free else ""


def _probe(rank: RankLedger, end: str) -> str:
    if not rank.probe or getattr(rank.during_probe, end) <= rank.free:
        return ""
    need = format_gib(getattr(rank.during_probe, end))
    return tr("plan.over_probe", probe=format_gib(rank.probe), need=need, have=format_gib(rank.free))


def _cache(rank: RankLedger, end: str) -> str:
    pool = {LOW: rank.pool.high, EXPECTED: rank.pool.expected, HIGH: rank.pool.low}[end]
    if pool <= 0:
        budget, weights = format_gib(rank.budget), format_gib(rank.weights)
        return tr("plan.over_budget", over=format_gib(-pool), have=budget, weights=weights)
    kv = cache_at(rank, end)
    spare = 1 if rank.given.rules.null_block_in_check else 0
    if kv is None or kv.blocks_per_request <= kv.blocks - spare:
        return ""
    need, have = kv.blocks_per_request * kv.bytes_per_block, max(0, kv.blocks - spare) * kv.bytes_per_block
    return tr("plan.over_cache", need=format_gib(need), have=format_gib(have), length=rank.settings.max_model_len)


def _states(rank: RankLedger, end: str) -> str:
    """Full graphs of a hybrid want a state block for each sequence."""
    kv = cache_at(rank, end)
    hybrid = rank.given.model.linear_attention is not None and captures(rank.settings).full
    if kv is None or not hybrid or not rank.given.rules.graph_state_check or rank.settings.max_num_seqs <= kv.blocks:
        return ""
    return tr("plan.over_states", seqs=rank.settings.max_num_seqs, blocks=kv.blocks)


def _outside(rank: RankLedger, end: str) -> str:
    """Before 0.20 the graphs come on top of the budget; a fixed cache has no budget at all."""
    context, graphs = getattr(rank.context, end), getattr(rank.graphs, end)
    fixed, inside = getattr(rank.fixed, end), getattr(rank.graphs_in_budget, end)
    lasting = fixed - inside + graphs
    if rank.settings.kv_cache_memory_bytes is None:
        lasting += max(0, rank.budget - fixed)
    else:
        lasting += rank.settings.kv_cache_memory_bytes
    if lasting + context <= rank.free:
        return ""
    return tr("plan.over_card", need=format_gib(lasting + context), have=format_gib(rank.free))
