"""How long a start usually takes: read from the records of earlier starts of the same plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from fitserve.observe.record import read_record
from fitserve.run.deployment import Deployment, records_dir
from fitserve.run.live import StageTime
from fitserve.stage import Stage

_LOOKED_AT, _COUNTED = 20, 5  # records, the youngest first, and starts among them
_HEAD = 40  # events: a start is told at the beginning of its record


@dataclass(frozen=True)
class Usual:
    """Earlier starts that came to answer: for each, when its stages began, in seconds after the engine's start."""

    starts: tuple[Mapping[Stage, float], ...]

    def seconds(self, stage: Stage) -> float | None:
        """How long a stage usually takes; None where no start shows it."""
        order = list(Stage)
        took = []
        for start in self.starts:
            after = [at for other, at in start.items() if order.index(other) > order.index(stage)]
            if stage in start and after:
                took.append(min(after) - start[stage])
        return median(took) if took else None

    def left_s(self, stages: Sequence[StageTime], elapsed_s: float) -> float | None:
        """What is usually left to the answer, from where this start stands; 0 where it takes longer than usual."""
        if not stages:
            return None
        now = stages[-1]
        left = [start[Stage.ANSWERING] - start[now.stage] for start in self.starts if now.stage in start]
        return max(0.0, median(left) - (elapsed_s - now.at_s)) if left else None


def usual(deployment: Deployment) -> Usual:
    """From the records of this deployment. Records of other settings or engines do not count."""
    paths = sorted(records_dir(deployment.name).glob("*.jsonl"), reverse=True)[:_LOOKED_AT]
    found = filter(None, (_start(path, deployment) for path in paths))
    return Usual(tuple(start for start, _ in zip(found, range(_COUNTED), strict=False)))


def _start(path: Path, deployment: Deployment) -> dict[Stage, float] | None:
    """The stages of one recorded start; None where it never answered or was another plan's."""
    try:
        events = [row for row, _ in zip(read_record(path), range(_HEAD), strict=False)]
    except OSError:
        return None
    begun = next((row for row in events if row["event"] == "engine_started"), None)
    if begun is None or not _same_plan(begun, deployment):
        return None
    stages = dict(_stages(events))
    return stages if Stage.ANSWERING in stages else None


def _same_plan(begun: Mapping[str, Any], deployment: Deployment) -> bool:
    plan = begun.get("plan")
    settings = plan.get("settings") if isinstance(plan, dict) else None
    return begun.get("engine") == deployment.engine and settings == deployment.plan.get("settings")


def _stages(events: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Stage, float]]:
    for row in events:
        if row["event"] == "stage" and row.get("stage") in list(Stage) and isinstance(row.get("at_s"), (int, float)):
            yield Stage(row["stage"]), float(row["at_s"])
