"""The ledger of one GPU rank, row by row, and what is left for the cache at each end of the intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fitserve.facts.gpu import Gpu
from fitserve.facts.model import ModelFacts
from fitserve.facts.weights import ModuleGroup, group_weights
from fitserve.plan.calibration import Calibration
from fitserve.plan.captures import captures
from fitserve.plan.given import Given
from fitserve.plan.ledger import NOTHING, Interval, exact, largest, point, ranged, weights_row
from fitserve.plan.passes import (
    compile_bytes,
    encoder_cache_bytes,
    language_bytes,
    rope_bytes,
    runner_bytes,
    sampler_bytes,
    sees,
    vision_bytes,
    workspace_bytes,
)
from fitserve.plan.plan import Basis, LedgerRow
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import Sharding, rank_bytes
from fitserve.text import tr
from fitserve.units import GIB, format_gib

_MEASURED_WIDTH = 7 * GIB // 10
_NATIVE_FP8, _BLOCK_COLUMNS = (8, 9), 128


def columns_per_scale(model: ModelFacts, card: Gpu | None) -> int:
    """128 where a card without FP8 kernels serves FP8 blocks through Marlin, which has a scale for each column."""
    have = card.compute_capability if card else None
    blocks = any(group.strategy == "block" and group.bits == 8 for group in model.quantization.groups)
    if have is None or have >= _NATIVE_FP8 or not blocks:
        return 1
    size = model.quantization.raw.get("weight_block_size")
    return size[0] if isinstance(size, list) and size and isinstance(size[0], int) else _BLOCK_COLUMNS


def sharding_of(model: ModelFacts, settings: Settings, card: Gpu | None = None) -> Sharding:
    """The settings, and the card's kernels, that decide who holds which weights."""
    return Sharding(
        settings.tensor_parallel_size,
        vision=sees(model, settings),
        vision_data_mode=settings.mm_encoder_tp_mode == "data",
        drafts=settings.num_speculative_tokens > 0,
        columns_per_scale=columns_per_scale(model, card),
    )


@dataclass(frozen=True)
class RankLedger:
    """One rank on one card under given settings."""

    given: Given
    settings: Settings
    card: Gpu
    calibration: Calibration
    weights: int
    layer: int = 0  # packed bytes of the largest layer's experts or MLP

    @property
    def budget(self) -> int:
        """What vLLM takes for itself: ceil(total * utilization) (0.33 `v1/worker/utils.py` `request_memory`)."""
        share = self.settings.gpu_memory_utilization or self.given.rules.default_utilization
        return math.ceil(self.card.total_bytes * share)

    @property
    def free(self) -> int:
        """Free bytes before the engine starts; an assumed card is empty."""
        return self.card.total_bytes if self.card.free_bytes is None else self.card.free_bytes

    @cached_property
    def context(self) -> Interval:
        """CUDA context and communicators, taken before the snapshot: outside the budget."""
        found = self.calibration.amount("context")
        return found + self.calibration.amount("communicators") if self.settings.tensor_parallel_size > 1 else found

    @cached_property
    def non_torch(self) -> Interval:
        """Modules, JIT code and late channels, taken after the snapshot: inside the budget."""
        found = self.calibration.amount("non_torch")
        return found + self.calibration.amount("late_channels") if self.settings.tensor_parallel_size > 1 else found

    @cached_property
    def rope(self) -> Interval:
        return point(rope_bytes(self.given.model, self.given.rules.rope_factor))

    @cached_property
    def runner(self) -> Interval:
        """Tables of the model runner; both runners where the release alone does not decide which."""
        runner = self.given.runner
        ends = [runner_bytes(self.given.model, self.settings, each) for each in ((runner,) if runner else (1, 2))]
        return Interval(ends[0], ends[-1], ends[-1])

    @cached_property
    def workspace(self) -> int:
        return workspace_bytes(self.given.model, self.settings)

    @cached_property
    def encoder(self) -> int:
        return encoder_cache_bytes(self.given.model, self.settings)

    @cached_property
    def pass_sizes(self) -> dict[str, int]:
        """What the formulas say of each pass of the profiling run."""
        model, settings = self.given.model, self.settings
        return {
            "vision": vision_bytes(model, settings),
            "language": language_bytes(model, settings),
            "sampler": sampler_bytes(model, settings),
            "compile": 0 if self.given.warm else compile_bytes(model, settings),
        }

    @cached_property
    def passes(self) -> dict[str, Interval]:
        """The same under this card's factors; they follow each other."""
        return {name: self.calibration.of_pass(name, size) for name, size in self.pass_sizes.items()}

    @cached_property
    def peak(self) -> Interval:
        """The largest pass. The workspace and the encoder's outputs have rows of their own."""
        return largest(self.passes.values())

    @cached_property
    def graphs(self) -> Interval:
        return self.calibration.graphs(captures(self.settings).count, len(self.given.model.layers))

    @cached_property
    def graphs_in_budget(self) -> Interval:
        """The part of the graphs that the cache gives way to: the estimate, from 0.20; before, they come on top."""
        return self.graphs if self.given.rules.graphs_in_budget else NOTHING

    @cached_property
    def fixed(self) -> Interval:
        """Everything in the budget but the cache."""
        return (
            point(self.weights + self.workspace + self.encoder)
            + self.rope
            + self.runner
            + self.peak
            + self.non_torch
            + self.graphs_in_budget
        )

    @cached_property
    def pool(self) -> Interval:
        """What is left for the cache: low where everything else is high. Negative where nothing is left."""
        if self.settings.kv_cache_memory_bytes is not None:
            return point(self.settings.kv_cache_memory_bytes)
        return Interval(*(self.budget - part for part in (self.fixed.high, self.fixed.expected, self.fixed.low)))

    @cached_property
    def repack(self) -> Interval:
        """While loading, one layer's packed gate and up weights lie there twice more for a moment."""
        return Interval(0, 2 * self.layer // 3, 4 * self.layer // 3)

    @cached_property
    def probe(self) -> int:
        """The throw-away cache of the graph estimate: one block a captured sequence; skipped with a fixed cache."""
        kind, layout = self.given.rules.graph_probe, self.given.layout(self.settings)
        if kind == "none" or layout is None or self.settings.enforce_eager or self.settings.kv_cache_memory_bytes:
            return 0
        most = captures(self.settings).largest
        return (most if kind == "capture" else min(self.settings.max_num_seqs, most)) * layout.bytes_per_block

    @property
    def during_probe(self) -> Interval:
        """Held when the probe runs: all that lasts, the context, the probe's cache and the graphs it captures."""
        lasting = self.fixed + self.context + point(self.probe)
        over = self.peak + self.graphs_in_budget
        without = Interval(lasting.low - over.low, lasting.expected - over.expected, lasting.high - over.high)
        return without + self.graphs if self.probe else without

    @property
    def basis(self) -> Basis:
        """Measured, where the figures leave no more than 0.7 GiB open; else they are bounds, wherever they are from."""
        wide = self.fixed.high - self.fixed.low > _MEASURED_WIDTH
        return Basis.BOUND if wide else self.calibration.basis

    def rows(self, pool_bytes: int) -> Iterator[LedgerRow]:
        """The rows in the order of a start. `pool_bytes`: blocks times bytes a block, at the expected point."""
        figures, basis = self.calibration, self.basis
        source = tr("plan.note_calibration", name=figures.name)
        yield ranged("context", self.context, basis, tr("plan.note_context"))
        yield weights_row(self.weights, inferred=self.given.model.layout_inferred)
        yield _row("rope_cache", self.rope, Basis.BOUND, tr("plan.note_rope"))
        yield _row("runner_state", self.runner, Basis.BOUND, tr("plan.note_runner"))
        yield exact("workspace", self.workspace, tr("plan.note_workspace"))
        yield exact("encoder_cache", self.encoder, tr("plan.note_encoder"))
        yield ranged("activation_peak", self.peak, basis, tr("plan.note_peak"))
        yield ranged("non_torch", self.non_torch, basis, source)
        yield ranged("graphs", self.graphs, basis, tr("plan.note_graphs", count=captures(self.settings).count))
        yield self._pool_row(pool_bytes)
        yield ranged("reserve", self._reserve(pool_bytes), basis, self._reserve_note())
        yield ranged("load_repack", self.repack, Basis.BOUND, tr("plan.note_repack"), transient=True)
        if self.probe:
            yield ranged("graph_probe", point(self.probe), Basis.EXACT, tr("plan.note_probe"), transient=True)

    def _pool_row(self, pool_bytes: int) -> LedgerRow:
        if self.settings.kv_cache_memory_bytes is not None:
            return exact("kv_pool", self.settings.kv_cache_memory_bytes, tr("plan.note_kv_fixed"))
        ends = Interval(max(0, self.pool.low), pool_bytes, max(0, self.pool.high))
        return ranged("kv_pool", ends, self.basis, tr("plan.note_kv"))

    def _reserve_note(self) -> str:
        held = self.card.total_bytes - self.free
        said = tr("plan.note_reserve")
        return f"{said}; {tr('plan.note_held', held=format_gib(held))}" if held else said

    def _reserve(self, pool_bytes: int) -> Interval:
        """What nobody takes, others neither: outside the budget without the context, and what the blocks leave over."""
        held = self.fixed.expected + (self.settings.kv_cache_memory_bytes or pool_bytes)
        outside = self.free - self.context.expected - held
        if self.graphs_in_budget != self.graphs:
            outside -= self.graphs.expected - self.graphs_in_budget.expected
        spread = self.context.high - self.context.expected
        return Interval(outside - spread, outside, outside + self.context.expected - self.context.low)


def _row(item: str, span: Interval, basis: Basis, note: str) -> LedgerRow:
    return exact(item, span.expected, note) if span.low == span.high else ranged(item, span, basis, note)


class Weights:
    """A model's weights by sharding, added up once each: the search asks for the same few again and again."""

    def __init__(self, model: ModelFacts) -> None:
        self._model = model
        self._groups = group_weights(model)
        self._known: dict[Sharding, int] = {}

    def of(self, settings: Settings, card: Gpu | None = None) -> int:
        """Bytes of one rank, on a card of this kind."""
        sharding = sharding_of(self._model, settings, card)
        if sharding not in self._known:
            self._known[sharding] = sum(rank_bytes(self._model, sharding, self._groups).values())
        return self._known[sharding]

    def layer(self, settings: Settings) -> int:
        """Bytes of the largest layer's experts or MLP on one rank."""
        return self._largest // settings.tensor_parallel_size

    @cached_property
    def _largest(self) -> int:
        sizes: dict[int | None, int] = {}
        for group in self._groups:
            if group.group in (ModuleGroup.EXPERTS, ModuleGroup.MLP):
                sizes[group.layer] = sizes.get(group.layer, 0) + group.size_bytes
        return max(sizes.values(), default=0)
