"""Which engines are known: the entry points of the group `fitserve.engines`, and ours where none are installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from fitserve.engines.base import Engine

GROUP = "fitserve.engines"
BUILT_IN = (  # the same lines as in pyproject.toml: a source checkout on PYTHONPATH has no entry points
    EntryPoint("vllm-cpu", "fitserve.engines.vllm_cpu:VLLM_CPU", GROUP),
    EntryPoint("vllm", "fitserve.engines.vllm:VLLM", GROUP),
)


def engines() -> dict[str, Engine]:
    """Every engine known, by name; a plug-in's name does not replace one of ours."""
    known: dict[str, Engine] = {}
    for point in (*BUILT_IN, *entry_points(group=GROUP)):
        if point.name not in known:
            known[point.name] = point.load()
    return known
