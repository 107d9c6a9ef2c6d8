"""What a measured start teaches: spans around its figures, kept beside the shipped files, narrower with each start.

Figures are those of vLLM's own log (names of `observe/log/figures.py`): free_at_start_gib, total_gib, weights_gib,
available_kv_gib, non_torch_gib, activation_peak_gib, graph_actual_gib, graph_estimate_gib.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fitserve.plan.calibration import Span, kind_of
from fitserve.plan.captures import captures
from fitserve.plan.gpu_rows import RankLedger
from fitserve.plan.ledger import Interval
from fitserve.plan.passes import compile_bytes, language_bytes, sampler_bytes, vision_bytes
from fitserve.plan.versions import release
from fitserve.units import GIB, MIB

ROUNDING = 0.005 * GIB  # figures are printed to 0.01 GiB
SLACK = 0.08  # of a value to both sides: two starts on one machine differ by less
_PASSES = {"vision": vision_bytes, "language": language_bytes, "sampler": sampler_bytes, "compile": compile_bytes}


@dataclass(frozen=True)
class Row:
    """One row of a ledger, predicted beside measured; bytes."""

    item: str
    low: int
    expected: int
    high: int
    measured: int

    @property
    def inside(self) -> bool:
        """Whether the measured value lies in the predicted interval, give or take the rounding of the log."""
        return self.low - ROUNDING <= self.measured <= self.high + ROUNDING


def compare(rank: RankLedger, figures: Mapping[str, object]) -> list[Row]:
    """The rows that the log states, beside what was predicted for them."""
    weights_low = rank.weights + rank.rope.low  # "Model loading took" holds the rotation table
    found: list[tuple[str, tuple[int, int, int], int | None]] = [
        ("weights", (weights_low, weights_low, rank.weights + rank.rope.high), _bytes(figures, "weights_gib")),
        ("kv_pool", _ends(rank.pool), _bytes(figures, "available_kv_gib")),
        ("graphs", _ends(rank.graphs), _bytes(figures, "graph_actual_gib")),
        ("non_torch", _ends(rank.non_torch), _bytes(figures, "non_torch_gib")),
        ("context", _ends(rank.context), _context(rank, figures)),
        ("activation_peak", _ends(rank.peak), peak_of(rank, figures)),
    ]
    return [Row(item, *ends, measured) for item, ends, measured in found if measured is not None]


def _ends(span: Interval) -> tuple[int, int, int]:
    return span.low, span.expected, span.high


def peak_of(rank: RankLedger, figures: Mapping[str, object]) -> int | None:
    """The peak without the graph estimate (0.27 and later print the sum) and without what has rows of its own.

    Up to 0.26 the printed peak holds the workspaces and the encoder's outputs too.
    """
    peak = _bytes(figures, "activation_peak_gib")
    if peak is None:
        return None
    if rank.given.rules.peak_includes_graphs:
        return max(0, peak - (_bytes(figures, "graph_estimate_gib") or 0))
    return max(0, peak - rank.workspace - rank.encoder - rank.runner.expected)


def lessons(rank: RankLedger, figures: Mapping[str, object]) -> dict[str, float]:
    """Values for the spans of a calibration file that one start yields."""
    found: dict[str, float] = {}
    context = _context(rank, figures)
    if context is not None:
        name = "context" if rank.settings.tensor_parallel_size == 1 else "communicators"
        base = 0 if name == "context" else rank.calibration.amount("context").expected
        found[name] = max(0.0, (context - base) / MIB)
    non_torch = _bytes(figures, "non_torch_gib")
    if non_torch is not None:
        found["non_torch"] = non_torch / MIB  # of several ranks with their late channels: these are 0 in a learned file
    graphs, count = _bytes(figures, "graph_actual_gib"), captures(rank.settings).count
    if graphs is not None and count:
        base = rank.calibration.amount("graph_base").expected
        found["graph_each"] = max(0.0, (graphs - base) / MIB / count / max(1, len(rank.given.model.layers)))
    peak = peak_of(rank, figures)
    largest = max(_PASSES, key=lambda name: _PASSES[name](rank.given.model, rank.settings))
    size = _PASSES[largest](rank.given.model, rank.settings)
    if peak is not None and size:
        found[largest] = peak / size
    return found


def _bytes(figures: Mapping[str, object], name: str) -> int | None:
    value = figures.get(name)
    return int(value * GIB) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _context(rank: RankLedger, figures: Mapping[str, object]) -> int | None:
    """What was free before the start, less what vLLM found: what others hold is not the engine's context."""
    total, free = _bytes(figures, "total_gib"), _bytes(figures, "free_at_start_gib")
    if total is None or free is None:
        return None
    before = min(total, rank.free)
    return before - free if free < before else None


def learned_file(folder: Path, gpu: str, version: str | None) -> Path:
    """Where the lessons of a kind of card and a release are kept."""
    major, minor = release(version)
    return folder / f"{kind_of(gpu)}_{major}.{minor}.toml"


def learned_files(folder: Path) -> tuple[Path, ...]:
    """All that was learned on this machine."""
    return tuple(sorted(folder.glob("*.toml"))) if folder.is_dir() else ()


def add_start(path: Path, gpu: str, version: str, source: str, values: Mapping[str, float]) -> dict[str, Span]:
    """Keep one more start and write the spans that hold all kept ones. A source counts once."""
    starts = [item for item in kept_starts(path) if item.get("source") != source]
    starts.append({"source": source, **{name: round(value, 4) for name, value in values.items()}})
    spans = spans_of(starts)
    major, minor = release(version)
    lines = [f'gpu = "{gpu}"', f'engine = "{major}.{minor}"']
    lines += [f"sources = [{', '.join(json.dumps(str(item['source'])) for item in starts)}]"]
    lines += [f"{name} = [{', '.join(f'{value:.4f}' for value in span)}]" for name, span in spans.items()]
    for item in starts:
        lines += ["", "[[starts]]", *(f"{name} = {json.dumps(value)}" for name, value in item.items())]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return spans


def kept_starts(path: Path) -> list[dict[str, object]]:
    """The starts that a learned file was made from."""
    if not path.is_file():
        return []
    starts = tomllib.loads(path.read_text(encoding="utf-8")).get("starts", [])
    return [dict(item) for item in starts if isinstance(item, dict)]


def spans_of(starts: Iterable[Mapping[str, object]]) -> dict[str, Span]:
    """For each figure: a little under the least, the middle, a little over the most."""
    values: dict[str, list[float]] = {}
    for item in starts:
        for name, value in item.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, []).append(float(value))
    return {
        name: (min(seen) * (1 - SLACK), sum(seen) / len(seen), max(seen) * (1 + SLACK)) for name, seen in values.items()
    }
