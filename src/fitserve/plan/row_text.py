"""A ledger row's name on every screen: a processor has no CUDA context, its row holds the processes."""

from __future__ import annotations

from fitserve.text.catalog import current_language, sentences


def row_text(item: str, *, on_cpu: bool, language: str | None = None) -> str:
    """The row's name in the reader's language; a row that is not ours (a recording's) keeps its own."""
    key = "row_processes" if on_cpu and item == "context" else f"row_{item}"
    return sentences(language or current_language(), "plan").get(key, item)
