"""`inspect` without a model, and `inspect gpus --known`: the models and cards whose facts ship with fitserve."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from fitserve.cli.inspect_console import answer_console
from fitserve.cli.inspect_document import model_document
from fitserve.facts.gpu_kinds import KINDS
from fitserve.facts.known_models import hub_of, known_names, read_known
from fitserve.facts.summary import summarize
from fitserve.text import tr
from fitserve.units import GIB, format_gib

_WIDE = 120


def models_document() -> dict[str, object]:
    """Every known model: name, hub id, bytes of its weights, quantization."""
    models = []
    for name in known_names():
        facts = read_known(name)
        quantization = model_document(facts, summarize(facts))["quantization"]
        row = {"name": name, "hub": hub_of(name), "bytes": facts.checkpoint_bytes, "quantization": quantization}
        models.append(row)
    return {"schema_version": 1, "kind": "known_models", "models": models}


def show_models(console: Console | None = None) -> None:
    """The list for a reader, and how to look at a model that is not on it."""
    console = console or answer_console()
    table = _table("model", "size", "quantization", "hub")
    for name in known_names():
        facts = read_known(name)
        bits = f", {facts.quantization.bits} bit" if facts.quantization.bits else ""
        stored = facts.quantization.format.value
        how = tr("inspect.unquantized") if stored == "none" else stored + bits
        table.add_row(name, format_gib(facts.checkpoint_bytes), how, hub_of(name) or "")
    # A name is there to be copied: a narrow terminal wraps the line rather than losing its end.
    console.width = max(console.width, _WIDE)
    console.print(table)
    console.print(tr("inspect.known_next"), soft_wrap=True)


def cards_document() -> dict[str, object]:
    """Every known kind of card."""
    cards = [
        {"name": kind.name, "visible_bytes": kind.visible_bytes, "bandwidth_bytes_s": kind.bandwidth_bytes_s,
         "compute_capability": list(kind.capability), "measured": kind.seen}
        for kind in KINDS
    ]  # fmt: skip
    return {"schema_version": 1, "kind": "known_gpus", "gpus": cards}


def show_cards(console: Console | None = None) -> None:
    """The cards that `--gpus` takes by name."""
    console = console or answer_console()
    table = _table("card", "visible", "bandwidth", "capability")
    for kind in KINDS:
        seen = "" if kind.seen else " ~"
        bandwidth = f"{kind.bandwidth_bytes_s / 10**9:,.0f} GB/s"
        table.add_row(
            kind.name, f"{kind.visible_bytes / GIB:.2f}{seen}", bandwidth, ".".join(map(str, kind.capability))
        )
    console.print(table)
    console.print(tr("inspect.known_cards_next"), soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        right = column in ("size", "bandwidth")
        table.add_column(tr(f"inspect.column_{column}"), justify="right" if right else "left", no_wrap=True)
    return table
