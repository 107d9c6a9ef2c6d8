"""`inspect gpus` for a reader, and for `recorded:FILE`: a plain redirect carries the record in its last line."""

from __future__ import annotations

import json

from rich import box
from rich.console import Console
from rich.table import Table

from fitserve.chat.clean import strip_control
from fitserve.cli.inspect_console import answer_console
from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.gpu_record import MARK, gpus_document
from fitserve.text import tr
from fitserve.units import format_gib


def show_gpus(cards: tuple[Gpu, ...] | GpusUnknown, console: Console | None = None) -> None:
    """Print the cards on stdout."""
    console = console or answer_console()
    if isinstance(cards, GpusUnknown):
        console.print(tr("inspect.gpus_unknown", reason=cards.reason))
        if cards.evidence:
            console.print(f"  {strip_control(cards.evidence)}", style="dim")
    elif not cards:
        console.print(tr("inspect.no_gpus"))
    else:
        console.print(_table(cards))
    if not console.is_terminal:
        console.print(MARK + json.dumps(gpus_document(cards), ensure_ascii=False), soft_wrap=True)


def _table(cards: tuple[Gpu, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("index", "card", "total", "free", "bandwidth", "capability", "peers", "processes"):
        right = column in ("index", "total", "free", "bandwidth")
        folds = column in ("card", "processes")
        name = tr(f"inspect.column_{column}")
        least = min(24, max(map(len, (card.name for card in cards)))) if column == "card" else None
        table.add_column(
            name, justify="right" if right else "left", overflow="fold", no_wrap=not folds, min_width=least
        )
    for card in cards:
        table.add_row(*_row(card))
    return table


def _row(card: Gpu) -> tuple[str, ...]:
    unknown = tr("inspect.unknown")
    return (
        str(card.index),
        strip_control(card.name) + (" MIG" if card.mig else ""),
        format_gib(card.total_bytes),
        unknown if card.free_bytes is None else format_gib(card.free_bytes),
        unknown if card.bandwidth_bytes_s is None else f"{card.bandwidth_bytes_s / 10**9:,.0f} GB/s",
        unknown if card.compute_capability is None else ".".join(map(str, card.compute_capability)),
        _peers(card),
        _processes(card),
    )


def _peers(card: Gpu) -> str:
    if card.p2p_peers is None:
        return tr("inspect.unknown")
    link = " NVLink" if card.nvlink else ""
    return (", ".join(map(str, card.p2p_peers)) or tr("inspect.no_peers")) + link


def _processes(card: Gpu) -> str:
    shown = []
    for process in card.processes[:4]:
        used = "" if process.used_bytes is None else f" {format_gib(process.used_bytes)} GiB"
        shown.append(f"{strip_control(process.name or '?')} ({process.pid}){used}")
    more = len(card.processes) - len(shown)
    return ", ".join(shown) + (f" +{more}" if more else "")
