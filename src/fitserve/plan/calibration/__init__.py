"""What can't be computed: intervals by GPU kind and engine version, each with where it is from.

A file stands for one kind of card and one release. Where there is none, the nearest release of the same kind is
widened; where there is no such kind, `default.toml` (all public runs together) is taken.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from fitserve.facts.gpu_kinds import Peer, find_kind
from fitserve.plan.ledger import Interval
from fitserve.plan.plan import Basis
from fitserve.plan.versions import Release, release
from fitserve.units import MIB

SHIPPED = Path(__file__).parent
_WIDER = 0.25  # of an interval's half width, for another release of the same kind

Span = tuple[float, float, float]


@dataclass(frozen=True)
class Calibration:
    """Spans are (low, expected, high): MiB for amounts, factors for the passes of plan/passes.py."""

    name: str
    gpu: str
    engine: str
    basis: Basis
    context: Span  # CUDA context of one rank, before vLLM's snapshot, outside the budget
    communicators: Span  # NCCL and custom all-reduce of one rank, before the snapshot too; none on one card
    non_torch: Span  # modules and JIT code loaded after the snapshot
    late_channels: Span  # what several ranks load after it besides; none on one card
    graph_base: Span
    graph_each: Span  # one captured graph of one layer
    vision: Span
    language: Span
    sampler: Span
    compile: Span
    sources: tuple[str, ...] = ()

    def amount(self, name: str) -> Interval:
        """A span in MiB as bytes."""
        return Interval(*(int(value * MIB) for value in getattr(self, name)))

    def graphs(self, count: int, layers: int) -> Interval:
        """The graph pool for `count` graphs of a model with `layers` layers."""
        if not count:
            return Interval(0, 0, 0)
        return self.amount("graph_base") + self.amount("graph_each").scaled(count * layers)

    def of_pass(self, name: str, size: int) -> Interval:
        """A formula's bytes under this card's factors."""
        return Interval(*(int(size * factor) for factor in getattr(self, name)))


_SPANS = (
    "context", "communicators", "non_torch", "late_channels", "graph_base", "graph_each",
    "vision", "language", "sampler", "compile",
)  # fmt: skip


def calibration_for(gpu: str, version: str | None, learned: Iterable[Path] = ()) -> Calibration:
    """The figures for a card and a version: learned ones first, then shipped ones, then the default."""
    wanted = release(version)
    found = [item for item in _all(tuple(learned)) if item.gpu and kind_of(item.gpu) == kind_of(gpu)]
    if not found:
        return _of_no_kind(gpu)
    nearest = min(found, key=lambda item: _distance(release(item.engine), wanted))
    return nearest if release(nearest.engine) == wanted else widened(nearest)


def _of_no_kind(gpu: str) -> Calibration:
    kind = find_kind(gpu)
    linked = kind is not None and kind.peer is Peer.NVLINK
    return replace(read_calibration(SHIPPED / "nvlink.toml"), basis=Basis.BOUND) if linked else default()


def default() -> Calibration:
    """The spans of all public runs together."""
    return read_calibration(SHIPPED / "default.toml")


def kind_of(name: str) -> str:
    """A card's kind without the maker's words: `NVIDIA GeForce RTX 3090` and `RTX3090` are `rtx3090`."""
    return re.sub(r"nvidia|geforce|graphics|laptop gpu|tesla|[^a-z0-9]", "", name.lower())


def widened(item: Calibration) -> Calibration:
    """The same card on another release: each span a quarter wider to both sides."""

    def wide(span: Span) -> Span:
        low, middle, high = span
        return max(0.0, low - _WIDER * (middle - low)), middle, high + _WIDER * (high - middle)

    spans: dict[str, Any] = {name: wide(getattr(item, name)) for name in _SPANS}
    return replace(item, basis=Basis.BOUND, **spans)


def _distance(one: Release, other: Release) -> int:
    return abs(one[0] - other[0]) * 1000 + abs(one[1] - other[1])


@cache
def _all(learned: tuple[Path, ...]) -> tuple[Calibration, ...]:
    return tuple(read_calibration(path) for path in (*learned, *sorted(SHIPPED.glob("*.toml"))))


@cache
def read_calibration(path: Path) -> Calibration:
    """One file. What it leaves out is the default's."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    base = None if path.name == "default.toml" else default()
    spans = {name: _span(table.get(name)) or (getattr(base, name) if base else (0.0, 0.0, 0.0)) for name in _SPANS}
    return Calibration(
        path.stem,
        str(table.get("gpu", "")),
        str(table.get("engine", "")),
        Basis.CALIBRATED if base else Basis.BOUND,
        sources=tuple(map(str, table.get("sources", ()))),
        **spans,
    )


def _span(value: object) -> Span | None:
    if isinstance(value, list) and len(value) == 3:
        low, middle, high = map(float, value)
        return low, middle, high
    return None
