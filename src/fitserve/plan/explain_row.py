"""A ledger row as its formula with the numbers in it: `plan --explain ROW`."""

from __future__ import annotations

from collections.abc import Callable

from fitserve.facts.gpu import Gpu
from fitserve.facts.model import QuantFormat
from fitserve.facts.weights import ModuleGroup
from fitserve.plan.captures import captures
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.gpu_rows import RankLedger, sharding_of
from fitserve.plan.kv import state_copies
from fitserve.plan.passes import (
    picture_pixels,
    picture_tokens,
    rope_bytes,
    sees,
)
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import rank_bytes
from fitserve.text import tr
from fitserve.units import GIB, MIB, format_bytes, format_gib

ROWS = (
    "context", "weights", "rope_cache", "runner_state", "workspace", "encoder_cache", "activation_peak", "non_torch",
    "graphs", "kv_pool", "reserve", "load_repack", "graph_probe",
)  # fmt: skip


def explain_row(row: str, given: Given, settings: Settings) -> list[str]:
    """Lines in the reader's language. Raises KeyError for a row that is not in ROWS."""
    explain = _EXPLAIN[row]
    if given.gpus is None:
        return [tr(f"explain.cpu_{row}")] if row in ("context", "kv_pool", "activation_peak") else _weights_only(
            row, given, settings
        )  # fmt: skip
    return explain(Scale(given).weigh(settings).rank)


def _weights_only(row: str, given: Given, settings: Settings) -> list[str]:
    return _weight_lines(given, settings) if row == "weights" else [tr("explain.cpu_none")]


def _weights(rank: RankLedger) -> list[str]:
    return _weight_lines(rank.given, rank.settings, rank.card)


def _weight_lines(given: Given, settings: Settings, card: Gpu | None = None) -> list[str]:
    sharding = sharding_of(given.model, settings, card)
    parts = rank_bytes(given.model, sharding)
    source = tr("explain.from_config" if given.model.layout_inferred else "explain.from_headers")
    total = format_gib(sum(parts.values()), 3)
    lines = [tr("explain.row_weights", ranks=settings.tensor_parallel_size, source=source, total=total)]
    lines += [f"  {format_gib(size, 3):>8}  {_named(group)}" for group, size in sorted(parts.items(), key=_by_size)]
    if given.model.quantization.format in (QuantFormat.GPTQ, QuantFormat.AUTOROUND):
        lines.append(tr("explain.row_weights_gptq"))
    if sharding.columns_per_scale > 1:
        lines.append(tr("explain.row_weights_marlin", columns=sharding.columns_per_scale))
    attention = given.model.attention
    if attention and settings.tensor_parallel_size > attention.kv_heads:
        copies = settings.tensor_parallel_size // attention.kv_heads
        lines.append(tr("explain.row_weights_kv", heads=attention.kv_heads, copies=copies))
    return lines


def _named(group: ModuleGroup) -> str:
    return "MTP" if group is ModuleGroup.MTP else tr(f"inspect.group_{group.value}")


def _by_size(item: tuple[object, int]) -> int:
    return -item[1]


def _context(rank: RankLedger) -> list[str]:
    span = rank.context
    low, high = format_gib(span.low), format_gib(span.high)
    return [tr("explain.row_context", low=low, high=high, budget=format_gib(rank.budget), name=rank.calibration.name)]


def _rope(rank: RankLedger) -> list[str]:
    model = rank.given.model
    factor = rank.given.rules.rope_factor
    size = format_bytes(rope_bytes(model, factor))
    return [
        tr("explain.row_rope", positions=f"{model.max_positions or 0:,}", factor=factor,
           dim=model.rotary_dim or 0, size=size)
    ]  # fmt: skip


def _runner(rank: RankLedger) -> list[str]:
    model, settings = rank.given.model, rank.settings
    runner = rank.given.runner
    return [
        tr("explain.row_runner", runner=runner or "1/2", seqs=settings.max_num_seqs, vocab=f"{model.vocab or 0:,}",
           step=settings.max_num_batched_tokens, hidden=model.hidden or 0, size=format_bytes(rank.runner.high))
    ]  # fmt: skip


def _workspace(rank: RankLedger) -> list[str]:
    experts = rank.given.model.experts
    if experts is None:
        return [tr("explain.row_workspace_none")]
    step, hidden = rank.settings.max_num_batched_tokens, rank.given.model.hidden or 0
    width = experts.width // (1 if rank.settings.enable_expert_parallel else rank.settings.tensor_parallel_size)
    return [
        tr("explain.row_workspace", step=step, chosen=experts.per_token, width=width, hidden=hidden,
           token=format_bytes(rank.workspace // step), size=format_bytes(rank.workspace))
    ]  # fmt: skip


def _encoder(rank: RankLedger) -> list[str]:
    vision = rank.given.model.vision
    if vision is None or not sees(rank.given.model, rank.settings):
        return [tr("explain.row_encoder_none")]
    pixels, tokens = picture_pixels(vision, rank.settings), picture_tokens(vision, rank.settings)
    return [
        tr("explain.row_encoder", pixels=f"{pixels:,}", tokens=f"{tokens:,}", hidden=vision.out_hidden,
           size=format_bytes(rank.encoder))
    ]  # fmt: skip


def _peak(rank: RankLedger) -> list[str]:
    figures = rank.calibration
    lines = [tr("explain.row_peak", name=figures.name)]
    for name, size in rank.pass_sizes.items():
        span = rank.passes[name]
        said = tr(f"explain.pass_{name}")
        lines.append(f"  {said}: {format_gib(size)} × {getattr(figures, name)[1]:g} → "
                     f"{format_gib(span.low)}–{format_gib(span.high)} GiB")  # fmt: skip
    return lines


def _non_torch(rank: RankLedger) -> list[str]:
    span = rank.non_torch
    low, high = span.low // MIB, span.high // MIB
    sources = tr("explain.sources", sources="; ".join(rank.calibration.sources))
    return [tr("explain.row_non_torch", low=low, high=high), sources]


def _graphs(rank: RankLedger) -> list[str]:
    found = captures(rank.settings)
    if not found.count:
        return [tr("explain.row_graphs_none")]
    figures = rank.calibration
    where = "explain.graphs_inside" if rank.given.rules.graphs_in_budget else "explain.graphs_outside"
    return [
        tr("explain.row_graphs", piecewise=len(found.piecewise), full=len(found.full), largest=found.largest,
           layers=len(rank.given.model.layers), base=f"{figures.graph_base[1]:g}", each=f"{figures.graph_each[1]:g}",
           size=format_bytes(rank.graphs.expected), low=format_gib(rank.graphs.low), high=format_gib(rank.graphs.high)),
        tr(where),
        tr("explain.graphs_no_weights"),
    ]  # fmt: skip


def _pool(rank: RankLedger) -> list[str]:
    layout = rank.given.layout(rank.settings)
    if layout is None:
        return [tr("plan.cache_unknown")]
    settings, shape = rank.settings, rank.given.request_shape(rank.settings)
    lines = [
        tr("explain.row_pool", budget=format_gib(rank.budget), fixed=format_gib(rank.fixed.expected),
           pool=format_gib(max(0, rank.pool.expected))),
        tr("explain.row_block", block=layout.block_tokens, page=f"{layout.page_bytes:,}", layers=layout.group_layers,
           size=f"{layout.bytes_per_block:,}", blocks=f"{max(0, rank.pool.expected) // layout.bytes_per_block:,}"),
    ]  # fmt: skip
    if layout.state_groups:
        lines.append(
            tr("explain.row_state", groups=layout.state_groups, copies=state_copies(shape), full=layout.full_groups,
               length=f"{settings.max_model_len:,}", block=layout.block_tokens)
        )  # fmt: skip
    return lines


def _reserve(rank: RankLedger) -> list[str]:
    share = rank.settings.gpu_memory_utilization
    total, budget = format_gib(rank.card.total_bytes), format_gib(rank.budget)
    held = format_gib(rank.card.total_bytes - rank.free)
    return [tr("explain.row_reserve", total=total, share=share or "–", budget=budget, held=held)]


def _repack(rank: RankLedger) -> list[str]:
    return [tr("explain.row_repack", layer=f"{rank.layer / GIB:.2f}", high=format_gib(rank.repack.high))]


def _probe(rank: RankLedger) -> list[str]:
    layout = rank.given.layout(rank.settings)
    if not rank.probe or layout is None:
        return [tr("explain.row_probe_none")]
    blocks = rank.probe // layout.bytes_per_block
    return [
        tr("explain.row_probe", blocks=blocks, size=f"{layout.bytes_per_block:,}", probe=format_gib(rank.probe),
           free=format_gib(rank.free), held=format_gib(rank.during_probe.expected))
    ]  # fmt: skip


_EXPLAIN: dict[str, Callable[[RankLedger], list[str]]] = {
    "context": _context,
    "weights": _weights,
    "rope_cache": _rope,
    "runner_state": _runner,
    "workspace": _workspace,
    "encoder_cache": _encoder,
    "activation_peak": _peak,
    "non_torch": _non_torch,
    "graphs": _graphs,
    "kv_pool": _pool,
    "reserve": _reserve,
    "load_repack": _repack,
    "graph_probe": _probe,
}
