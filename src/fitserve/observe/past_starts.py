"""Earlier starts of the same plan, from the run records: how long each stage took."""

from __future__ import annotations

import statistics
from pathlib import Path

from fitserve.observe.record import read_record
from fitserve.run.deployment import Deployment, records_dir
from fitserve.run.live import StageTime
from fitserve.stage import Stage

_ENOUGH = 3  # the last ones: caches fill, machines change


class RecordedStarts:
    """Reads the records of the deployment itself."""

    def expected(self, deployment: Deployment) -> tuple[StageTime, ...]:
        """The median time of each stage over the last starts of this plan that answered; empty where none did."""
        found: list[dict[Stage, float]] = []
        for path in sorted(records_dir(deployment.name).glob("*.jsonl"), reverse=True):
            stages = _stages(path, deployment.plan_key)
            if Stage.ANSWERING in stages:
                found.append(stages)
            if len(found) == _ENOUGH:
                break
        return tuple(
            StageTime(stage, round(statistics.median(one[stage] for one in found if stage in one), 3))
            for stage in (found[0] if found else ())
        )


def _stages(path: Path, plan_key: str) -> dict[Stage, float]:
    """When each stage of a run began; empty where it was another plan's."""
    stages: dict[Stage, float] = {}
    try:
        for row in read_record(path):
            if row["event"] == "engine_started" and row.get("plan_key") != plan_key:
                return {}
            if row["event"] == "stage":
                stages[Stage(str(row["stage"]))] = float(str(row["at_s"]))
    except (OSError, ValueError, KeyError):
        return {}
    return stages
