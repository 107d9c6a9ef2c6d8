"""`inspect MODEL` for a reader: one screen of facts and a table of the weights."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from fitserve.chat.clean import strip_control
from fitserve.cli.inspect_console import answer_console
from fitserve.cli.inspect_document import integrity_state
from fitserve.facts.config import printable
from fitserve.facts.model import LayerKind, ModelFacts, QuantFormat, QuantGroup, Quantization, Vision
from fitserve.facts.summary import GroupSummary, left_in_sixteen_bit
from fitserve.facts.tensors import folds_of
from fitserve.text import tr
from fitserve.units import format_bytes, format_gib

_WIDTH = 110  # lines stay readable on a wide terminal


def show_model(facts: ModelFacts, rows: tuple[GroupSummary, ...], console: Console | None = None) -> None:
    """Print the model on stdout."""
    console = console or answer_console()
    width = min(console.width, _WIDTH)
    console.print(strip_control(facts.name), style="bold", end="  ")
    console.print(strip_control(facts.architecture) or tr("inspect.unknown"), style="dim")
    console.print(_facts_table(facts, rows), width=width)
    if rows:
        console.print(_weights_table(facts, rows), width=width)
    for problem in facts.problems:
        console.print(f"✗ {strip_control(problem)}", style="red", width=width)
    if facts.serving_problem:
        console.print(f"✗ {strip_control(facts.serving_problem)}", style="red", width=width)
    for note in facts.notes:
        console.print(f"· {strip_control(note)}", style="dim", width=width)


def _facts_table(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in _lines(facts, rows):
        table.add_row(tr(f"inspect.{key}"), strip_control(value))
    return table


def _lines(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> Iterator[tuple[str, str]]:
    """The facts that there are, each as a line; what is not known has no line, except the layers."""
    yield "source", tr("inspect.source_known") if facts.source == "known" else printable(facts.source)
    yield "layers", _layers(facts)
    if facts.attention:
        yield "attention", _attention(facts)
    if facts.linear_attention:
        net = facts.linear_attention
        yield (
            "linear_attention",
            tr(
                "inspect.linear_attention_line",
                key_heads=net.key_heads,
                value_heads=net.value_heads,
                dim=net.value_dim,
                kernel=net.conv_kernel,
                dtype=net.state_dtype,
            ),
        )
    if facts.experts:
        yield "experts", _experts(facts)
    if facts.vision:
        yield "vision", _vision(facts.vision)
    if facts.max_positions:
        yield "context", tr("inspect.context_line", tokens=f"{facts.max_positions:,}")
    yield "quantization", _quantization(facts.quantization)
    left = left_in_sixteen_bit(facts, rows)
    if left:
        size = format_gib(sum(row.size_bytes for row in left))
        names = tr("inspect.comma").join(tr(f"inspect.group_{row.group.value}") for row in left)
        yield "left", tr("inspect.left_line", names=names, gib=size)
    shards = len({fold.first.shard for fold in folds_of(facts.tensors)})
    state = "away" if facts.layout_inferred else integrity_state(facts)
    yield "integrity", tr(f"inspect.integrity_{state}", shards=shards)


def _layers(facts: ModelFacts) -> str:
    kinds = [(kind, facts.count(kind)) for kind in LayerKind if facts.count(kind)]
    named = tr("inspect.comma").join(tr(f"inspect.kind_{kind.value}", count=count) for kind, count in kinds)
    parts = [tr("inspect.layers_line", count=len(facts.layers), kinds=named) if kinds else tr("inspect.unknown")]
    if facts.hidden:
        parts.append(tr("inspect.hidden", count=f"{facts.hidden:,}"))
    if facts.vocab:
        parts.append(tr("inspect.vocab", count=f"{facts.vocab:,}"))
    if facts.mtp_layers:
        parts.append(tr("inspect.mtp", count=facts.mtp_layers))
    return " · ".join(parts)


def _attention(facts: ModelFacts) -> str:
    heads = facts.attention
    assert heads is not None
    line = tr("inspect.attention_line", heads=heads.query_heads, kv=heads.kv_heads, dim=heads.head_dim)
    gate = f" · {tr('inspect.gate')}" if heads.output_gate else ""
    window = f" · {tr('inspect.window', tokens=f'{facts.sliding_window:,}')}" if facts.sliding_window else ""
    return line + gate + window


def _experts(facts: ModelFacts) -> str:
    experts = facts.experts
    assert experts is not None
    line = tr("inspect.experts_line", count=experts.count, per_token=experts.per_token, width=experts.width)
    return line + (f" · {tr('inspect.shared', width=experts.shared_width)}" if experts.shared_width else "")


def _vision(vision: Vision) -> str:
    side = vision.patch * vision.merge
    line = tr("inspect.vision_line", depth=vision.depth, hidden=vision.hidden, patch=vision.patch, cell=side)
    if vision.max_pixels is None:
        return f"{line} · {tr('inspect.limits_unknown')}"
    limits = tr("inspect.limits", pixels=f"{vision.max_pixels:,}", tokens=f"{vision.max_pixels // side**2:,}")
    return f"{line} · {limits}" + (tr("inspect.limits_assumed") if vision.limits_assumed else "")


def _quantization(quantization: Quantization) -> str:
    if quantization.format is QuantFormat.NONE:
        return tr("inspect.unquantized")
    name = f"{quantization.format.value} {quantization.packing}".strip()
    schemes = "; ".join(dict.fromkeys(_scheme(group) for group in quantization.groups))
    return f"{name}{tr('inspect.colon')}{schemes}" if schemes else name


def _scheme(group: QuantGroup) -> str:
    parts = [tr("inspect.bits", bits=group.bits or "?", kind=group.kind)]
    parts.append(tr("inspect.per_group", size=group.group_size) if group.group_size else tr("inspect.per_channel"))
    if group.symmetric is not None:
        parts.append(tr("inspect.symmetric" if group.symmetric else "inspect.asymmetric"))
    if group.activation_bits:
        parts.append(tr("inspect.activations", bits=group.activation_bits))
    if group.act_order:
        parts.append(f"act-order {group.act_order}")
    return tr("inspect.comma").join(parts)


def _weights_table(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_footer=True, show_edge=False, pad_edge=False, footer_style="bold")
    total = sum(row.size_bytes for row in rows) or 1
    count = sum(row.parameters for row in rows)
    table.add_column(tr("inspect.column_module"), tr("inspect.total"), no_wrap=True)
    table.add_column(tr("inspect.column_parameters"), _short(count), justify="right", no_wrap=True)
    table.add_column("GiB", format_gib(total), justify="right", no_wrap=True)
    table.add_column("", "", no_wrap=True, style="cyan")
    table.add_column(
        tr("inspect.column_types"), tr("inspect.tensors", count=f"{len(facts.tensors):,}"), overflow="fold"
    )
    largest = max(row.size_bytes for row in rows)
    for row in rows:
        bar = "█" * round(12 * row.size_bytes / (largest or 1))
        name = tr(f"inspect.group_{row.group.value}")
        table.add_row(name, _short(row.parameters), format_gib(row.size_bytes, 3), bar, _types(row))
    return table


def _types(row: GroupSummary) -> str:
    """Types with their sizes; those under a thousandth of the row (shapes, single scales) are only in the JSON."""
    shown = [(dtype, size) for dtype, size in row.bytes_by_dtype.items() if size * 1000 >= row.size_bytes]
    return " · ".join(f"{strip_control(dtype)} {format_bytes(size)}" for dtype, size in shown)


def _short(count: int) -> str:
    for unit, name in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if count >= unit:
            return f"{count / unit:.3f} {name}"
    return str(count)
