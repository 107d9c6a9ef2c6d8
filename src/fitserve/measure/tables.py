"""Measured things as JSON: bytes and counts as integers, seconds as numbers, unknown as null."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass

from fitserve.measure.bench import Bench, Spec
from fitserve.measure.figures import Bounds
from fitserve.measure.load import Pace
from fitserve.measure.workload import Workload

SCHEMA_VERSION = 1


def plain(value: object) -> object:
    """Dataclasses, tuples and numbers as JSON takes them; what is no number (no time passed) is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(part) for key, part in asdict(value).items()}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return round(value, 7) if math.isfinite(value) else None
    return value


def spec_table(spec: Spec) -> dict[str, object]:
    """All that is needed to do it again."""
    return {
        "workload": spec.work.table(),
        "pace": asdict(spec.pace),
        "warmup": spec.warmup,
        "bounds": asdict(spec.bounds),
        "extra": dict(spec.extra),
        "limit_s": spec.limit_s,
    }


def spec_from(table: dict[str, object]) -> Spec:
    """From what `spec_table` gave. Raises TypeError, KeyError for another shape."""
    pace, bounds, work, extra = (table[key] for key in ("pace", "bounds", "workload", "extra"))
    if not (isinstance(pace, dict) and isinstance(bounds, dict) and isinstance(work, dict) and isinstance(extra, dict)):
        raise TypeError("not a bench's settings")
    return Spec(
        Workload.from_table(work), Pace(**pace), int(str(table["warmup"])), Bounds(**bounds), tuple(extra.items()),
        float(str(table["limit_s"])),
    )  # fmt: skip


def bench_table(bench: Bench) -> dict[str, object]:
    """A bench without its samples, which stand in lines of their own."""
    return {
        "settings": spec_table(bench.spec),
        "figures": plain(bench.figures),
        "server": plain(bench.server),
        "lag_seconds": round(bench.lag_s, 6),
        "seconds": round(bench.seconds, 6),
        "unfinished": bench.unfinished,
        "judged": bench.judged,
        "right": bench.right,
        "picture_tokens": {f"{width}x{height}": tokens for (width, height), tokens in bench.picture_tokens.items()},
        "memory_peak_bytes": plain(bench.memory_peak_bytes),
        "valid": not bench.invalid,
        "invalid": list(bench.invalid),
        "notes": list(bench.notes),
    }
