"""The public points as values: what a report states of a start, and what came of it.

`points.jsonl` is made from public reports (issues, pull requests, benchmark pages; each with its source). `inferred`
says what was added because only that fits the report's own figures; `kv_reason` says why its tokens are not compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "points.jsonl"


@dataclass(frozen=True)
class Truth:
    """GiB of one rank, tokens and times as printed."""

    weights: float | None = None
    pool: float | None = None
    tokens: int | None = None
    times: float | None = None
    graphs: float | None = None


@dataclass(frozen=True)
class Point:
    """One start. None: the report does not say, so vLLM's default for that version holds."""

    id: str
    source: str
    version: str
    checkpoint: str
    truth: Truth
    outcome: str  # "ran", "stated", or what stopped it
    model: str = ""
    quant: str = ""
    gpu: str = ""
    gib: float | None = None
    ranks: int | None = None
    length: int | None = None
    share: float | None = None
    seqs: int | None = None
    step: int | None = None
    eager: bool | None = None
    kv_dtype: str = "auto"
    text_only: bool = False
    kv_bytes: int | None = None
    caching: bool | None = None
    drafts: int = 0
    largest_graph: int | None = None
    warm: bool = False  # the compile cache was warm
    no_weights: bool = False  # the build's weights are not known, so no verdict
    weights_about: float | None = None  # GiB, for the verdict only, where the report's build is not known here
    inferred: str = ""
    kv_reason: str = ""
    cure: dict[str, object] = field(default_factory=dict)

    @property
    def ran(self) -> bool:
        """It came up."""
        return self.outcome in ("ran", "stated")


@cache
def points() -> tuple[Point, ...]:
    """All points, in the file's order."""
    rows = (json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line)
    return tuple(Point(**(row | {"truth": Truth(**row["truth"])})) for row in rows)
