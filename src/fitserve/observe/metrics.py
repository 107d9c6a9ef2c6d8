"""vLLM's /metrics at one moment, under names that no version changes.

By version: before 0.11 KV use is `gpu_cache_usage_perc` and the gap between tokens `time_per_output_token_seconds`; in
0.8 the prefix cache's counters carry `gpu_`; the picture cache has counters from 0.15 on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SUMS = {
    "running": ("num_requests_running",),
    "waiting": ("num_requests_waiting",),
    "preemptions": ("num_preemptions_total", "num_preemptions"),
    "prompt_tokens": ("prompt_tokens_total",),
    "generation_tokens": ("generation_tokens_total",),
    "finished": ("request_success_total",),
    "prefix_asked": ("prefix_cache_queries_total", "gpu_prefix_cache_queries_total"),
    "prefix_hits": ("prefix_cache_hits_total", "gpu_prefix_cache_hits_total"),
    "picture_asked": ("mm_cache_queries_total",),
    "picture_hits": ("mm_cache_hits_total",),
}
_HIGHEST = {"kv_usage": ("kv_cache_usage_perc", "gpu_cache_usage_perc")}  # of several engines the fullest counts
_HISTOGRAMS = {
    "first_token": ("time_to_first_token_seconds",),
    "per_token": ("inter_token_latency_seconds", "time_per_output_token_seconds"),
    "end_to_end": ("e2e_request_latency_seconds",),
    "queue": ("request_queue_time_seconds",),
}
GAUGES = frozenset({"running", "waiting", "kv_usage"})  # all others only grow while an engine lives
_LINE = re.compile(r"^vllm:([a-z0-9_]{1,80})(?:\{([^\n]{0,8000})\})? ([0-9.eE+-]{1,30})\s*$", re.MULTILINE)
_EDGE = re.compile(r'(?:^|,)le="([^"]{1,30})"')
_LABEL = re.compile(r'(\w{1,80})="([^"]{0,400})"')

Buckets = tuple[
    tuple[float | None, float], ...
]  # upper edge in seconds (the last has none), how many were at most that


@dataclass(frozen=True)
class Metrics:
    """`values` has the keys of the tables above, as far as this engine tells them; `cache` is its own cache report."""

    values: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Buckets] = field(default_factory=dict)
    cache: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_counted(self) -> bool:
        """Whether anything has happened to this engine yet."""
        return any(value for name, value in self.values.items() if name not in GAUGES)

    def restarted_since(self, before: Metrics) -> bool:
        """Whether a counter fell: another engine counts now."""
        return any(value < before.values.get(name, 0.0) for name, value in self.values.items() if name not in GAUGES)


def read_metrics(text: str) -> Metrics | None:
    """The page as `Metrics`; None where it is not vLLM's."""
    series = _series(text)
    if not series:
        return None
    values = {key: sum(value for _, value in rows) for key, rows in _found(_SUMS, series).items()}
    values |= {key: max(value for _, value in rows) for key, rows in _found(_HIGHEST, series).items()}
    named = {key: tuple(f"{name}_bucket" for name in names) for key, names in _HISTOGRAMS.items()}
    histograms = {key: _buckets(rows) for key, rows in _found(named, series).items()}
    return Metrics(values, histograms, _cache(series))


def totals(text: str) -> dict[str, float]:
    """Every series under vLLM's own name, summed over engines, ranks and reasons. Buckets are left out."""
    rows = _series(text).items()
    return {name: sum(value for _, value in found) for name, found in rows if not name.endswith("_bucket")}


def cache_info(text: str) -> dict[str, str]:
    """The labels of vLLM's `cache_config_info` gauge: the cache as the engine itself reports it."""
    return _cache(_series(text))


def _series(text: str) -> dict[str, list[tuple[str, float]]]:
    """(labels, value) of each finite line of vLLM's, by its name without the prefix."""
    series: dict[str, list[tuple[str, float]]] = {}
    for name, labels, value in _LINE.findall(text):
        number = _number(value)
        if number is not None:
            series.setdefault(name, []).append((labels, number))
    return series


def _cache(series: Mapping[str, list[tuple[str, float]]]) -> dict[str, str]:
    return dict(_LABEL.findall(series["cache_config_info"][0][0])) if "cache_config_info" in series else {}


def _found(
    wanted: Mapping[str, tuple[str, ...]], series: Mapping[str, list[tuple[str, float]]]
) -> dict[str, list[tuple[str, float]]]:
    """The first of each key's names that the page has."""
    names = {key: next((name for name in names if name in series), "") for key, names in wanted.items()}
    return {key: series[name] for key, name in names.items() if name}


def _buckets(rows: list[tuple[str, float]]) -> Buckets:
    """Summed over engines, in order of their edges."""
    counts: dict[float | None, float] = {}
    for labels, count in rows:
        told = _EDGE.search(labels)
        edge = _number(told[1]) if told else None
        if edge is not None or (told and told[1] == "+Inf"):
            counts[edge] = counts.get(edge, 0.0) + count
    return tuple(sorted(counts.items(), key=lambda bucket: math.inf if bucket[0] is None else bucket[0]))


def _number(text: str) -> float | None:
    """None where it is no finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
