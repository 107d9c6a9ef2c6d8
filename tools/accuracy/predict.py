"""What fitserve's plan says of a point, next to what the report says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from points import Point
from subjects import subject

from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_kinds import find_kind
from fitserve.facts.host import HostFacts
from fitserve.facts.model import ModelFacts
from fitserve.plan.calibration import Calibration, calibration_for
from fitserve.plan.defaults import as_given
from fitserve.plan.given import Given
from fitserve.plan.gpu_rows import RankLedger, Weights
from fitserve.plan.judge import Judgement, judge
from fitserve.plan.kv import capacity
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings
from fitserve.plan.versions import release
from fitserve.units import GIB

HOST = HostFacts("Linux", "3.12", None, frozenset(), 16, 64 * GIB, 64 * GIB, 8 * GIB, 10**12, "/usr/bin/c++")
COVERED = (0, 17)  # releases that the planner is for


@dataclass(frozen=True)
class Prediction:
    """Bytes; None where the report gives too little to compare."""

    point: Point
    tokens: int | None = None
    times: float | None = None
    blocks_off: float | None = None
    other_low: int | None = None  # everything in the budget but weights and cache
    other_high: int | None = None
    other_truth: int | None = None
    calibration: str = ""
    rank: RankLedger | None = None
    judgement: Judgement | None = None

    @property
    def covered(self) -> bool | None:
        """Whether the truth lies in the interval, give or take the rounding of two printed figures."""
        if self.other_truth is None or self.other_low is None or self.other_high is None:
            return None
        slack = GIB // 100
        return self.other_low - slack <= self.other_truth <= self.other_high + slack


def settings_of(point: Point, model: ModelFacts) -> Settings:
    """The report's settings, vLLM's defaults for the rest."""
    request = PlanRequest(
        tensor_parallel_size=point.ranks,
        execution="eager" if point.eager else "graphs",
        max_model_len=point.length,
        max_num_seqs=point.seqs,
        max_num_batched_tokens=point.step,
        enable_prefix_caching=point.caching,
        kv_cache_dtype=point.kv_dtype,
        gpu_memory_utilization=point.share,
        kv_cache_memory_bytes=point.kv_bytes,
        language_model_only=point.text_only,
        num_speculative_tokens=point.drafts,
        max_cudagraph_capture_size=point.largest_graph,
    )
    card = card_of(point)
    engine = EngineFacts("vllm", point.version, Path("python"), managed=False, device="cuda")
    return as_given(Given(request, model, engine, HOST, (card,) if card else ()))


def card_of(point: Point) -> Gpu | None:
    """The card, as its driver shows it; None where the report names neither card nor size."""
    kind = find_kind(point.gpu.split("(")[0].strip())
    if kind is not None and (point.gib is None or abs(point.gib - kind.box_gib) < 0.01):
        return Gpu(0, kind.name, kind.visible_bytes, None, kind.capability, assumed=True)
    if point.gib is None:
        return None
    return Gpu(0, kind.name if kind else point.gpu, int(point.gib * GIB), None, kind.capability if kind else None)


def rank_of(point: Point, figures: Calibration | None = None) -> RankLedger | None:
    """The ledger of one rank under the report's settings, with the report's weights where they are stated."""
    model, card = subject(point.model), card_of(point)
    if model is None or card is None or point.no_weights or not point.version or release(point.version) < COVERED:
        return None
    settings = settings_of(point, model)
    engine = EngineFacts("vllm", point.version, Path("python"), managed=False, device="cuda")
    given = Given(PlanRequest(), model, engine, HOST, (card,), warm=point.warm)
    bare = RankLedger(given, settings, card, figures or calibration_for(card.name, point.version), 0)
    stated = point.truth.weights or point.weights_about
    if stated is not None:  # "Model loading took" holds the rotation table
        return replace(bare, weights=max(0, int(stated * GIB) - bare.rope.expected))
    weights = weights_of(point.model)
    held = weights.of(settings) if weights else 0
    return replace(bare, weights=held, layer=weights.layer(settings)) if weights and held else None


@cache
def weights_of(model: str) -> Weights | None:
    """A model's weights by rank; nothing for a geometry, which has no tensors."""
    facts = subject(model)
    return Weights(facts) if facts and facts.tensors else None


def predict(point: Point, figures: Calibration | None = None) -> Prediction:
    """All that can be compared. `figures` in place of the calibration that a plan would take."""
    found = Prediction(point, *_cache(point))
    rank = rank_of(point, figures)
    if rank is None:
        return found
    other = (rank.fixed.low - rank.weights, rank.fixed.high - rank.weights)
    truth = None
    stated = point.truth.weights is not None and point.truth.pool is not None and point.share is not None
    if stated:
        weights = int((point.truth.weights or 0) * GIB) - rank.rope.expected
        truth = rank.budget - weights - int((point.truth.pool or 0) * GIB)
    return replace(
        found,
        other_low=other[0],
        other_high=other[1],
        other_truth=truth,
        calibration=rank.calibration.name,
        rank=rank,
        judgement=judge(rank),
    )


def _cache(point: Point) -> tuple[int | None, float | None, float | None]:
    """Tokens and times from the report's own pool, at the whole number of blocks nearest to its printed GiB.

    The printed pool is rounded to 0.01 GiB, so the blocks are free by a few; the third value is how far the blocks that
    give the report's tokens lie outside of that freedom, in blocks.
    """
    model, truth = subject(point.model), point.truth
    if model is None or truth.tokens is None or point.kv_reason:
        return None, None, None
    engine = EngineFacts("vllm", point.version, Path("python"), managed=False, device="cuda")
    settings = settings_of(point, model)
    given = Given(PlanRequest(), model, engine, HOST, ())
    layout = given.layout(settings)
    if layout is None:
        return None, None, None
    by_group = given.rules.tokens_by_group
    pool = int(truth.pool * GIB) if truth.pool is not None else None
    best = None
    shape = given.request_shape(settings)
    centre = (pool or 0) // layout.bytes_per_block
    reach = int(_half(truth.pool) / layout.bytes_per_block) + 2 if truth.pool else 0
    blocks = range(max(1, centre - reach), centre + reach + 1) if pool else _inverted(point, settings, given)
    for count in blocks:
        kv = capacity(layout, count * layout.bytes_per_block, settings.max_model_len, shape, by_group)
        if best is None or abs(kv.tokens - truth.tokens) < abs(best[0] - truth.tokens):
            best = kv.tokens, kv.concurrency, count
    if best is None:
        return None, None, None
    off = _outside(best[2] * layout.bytes_per_block, truth.pool, layout.bytes_per_block)
    return best[0], best[1], off


def _inverted(point: Point, settings: Settings, given: Given) -> range:
    """Without a stated pool: the whole number of blocks nearest to what the tokens say."""
    layout = given.layout(settings)
    assert layout is not None
    one = capacity(layout, layout.bytes_per_block, settings.max_model_len, given.request_shape(settings))
    count = round((point.truth.tokens or 0) * one.blocks_per_request / settings.max_model_len)
    return range(count, count + 1)


def _outside(size: int, stated_gib: float | None, block: int) -> float:
    """Blocks by which a pool of `size` lies outside what prints as the stated GiB (a part of a block may be lost)."""
    if stated_gib is None:
        return 0.0
    half = _half(stated_gib)
    low, high = stated_gib * GIB - half - block, stated_gib * GIB + half
    return max(0.0, low - size, size - high) / block


def _half(stated_gib: float) -> float:
    """Half of the last digit that the report prints: one decimal in some, two in most."""
    return (0.05 if round(stated_gib, 1) == stated_gib else 0.005) * GIB
