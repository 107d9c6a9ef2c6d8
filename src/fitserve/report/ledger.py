"""The ledger of a deployment: what the plan predicted beside what the engine took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitserve.report.charts import Bar, bars
from fitserve.report.content import Section, Table
from fitserve.text import tr
from fitserve.units import GIB, format_bytes

_MEASURED = {"weights": "weights_bytes", "kv_pool": "kv_bytes"}


def ledger_section(deployment: Mapping[str, Any], name: str) -> Section | None:
    """None where no plan is known."""
    plan = deployment.get("plan") or {}
    rows = [row for row in plan.get("ledger") or [] if row.get("expected") is not None]
    if not rows:
        return None
    measured = deployment.get("measured") or {}
    table = Table(
        tuple(tr(f"report.ledger_{column}") for column in ("item", "low", "expected", "high", "measured", "error")),
        tuple(_row(row, measured) for row in rows),
    )
    title = tr("report.ledger", name=name)
    chart = bars(
        f"ledger-{name}",
        title,
        "GiB",
        [bar for row in rows for bar in _bars(row, measured)],
        groups=(tr("report.predicted"), tr("report.measured")),
    )
    return Section(title, sentences=tuple(_kv(plan, measured)), tables=(table,), charts=(chart,))


def _row(row: Mapping[str, Any], measured: Mapping[str, Any]) -> tuple[str, ...]:
    took = _took(row, measured)
    error = "-" if took is None else f"{(row['expected'] - took) / GIB:+.2f} GiB"
    return (
        str(row["item"]),
        _size(row.get("low")),
        _size(row["expected"]),
        _size(row.get("high")),
        tr("report.not_measured") if took is None else format_bytes(took),
        error,
    )


def _bars(row: Mapping[str, Any], measured: Mapping[str, Any]) -> list[Bar]:
    low, high = (end / GIB if isinstance(end, int) else None for end in (row.get("low"), row.get("high")))
    found = [Bar(str(row["item"]), row["expected"] / GIB, low, high)]
    took = _took(row, measured)
    return found if took is None else [*found, Bar("", took / GIB, group=1)]


def _took(row: Mapping[str, Any], measured: Mapping[str, Any]) -> int | None:
    value = measured.get(_MEASURED.get(str(row["item"]), ""))
    return value if isinstance(value, int) else None


def _kv(plan: Mapping[str, Any], measured: Mapping[str, Any]) -> list[str]:
    kv = plan.get("kv") or {}
    pairs = [("blocks", "kv_blocks"), ("tokens", "kv_tokens")]
    return [
        tr(f"report.kv_{key}", planned=f"{kv[key]:,}", measured=f"{measured[theirs]:,}")
        for key, theirs in pairs
        if isinstance(kv.get(key), int) and isinstance(measured.get(theirs), int)
    ]


def _size(value: object) -> str:
    return format_bytes(value) if isinstance(value, int) else "?"
