"""Where measurements are kept: JSON lines, one file a command, with all that is needed to repeat them.

    {"event": "bench", …}    who was measured, on what host, with which plan
    {"event": "run", …}      one load's settings
    {"event": "sample", …}   one request
    {"event": "memory", …}   GPU memory while it ran
    {"event": "result", …}   its figures

`compare` writes `compare`, `start`, `sample`, `round` and `verdict` in the same way (`measure/compare.py`).
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve import __version__
from fitserve.clock import Clock
from fitserve.errors import SettingsError
from fitserve.measure.tables import SCHEMA_VERSION, plain
from fitserve.observe.record import RunRecord
from fitserve.paths import state_dir
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.facts.gpu import Gpu
    from fitserve.facts.host import HostFacts
    from fitserve.run.deployment import Deployment
    from fitserve.run.live import Live


def results_dir() -> Path:
    """The folder of all measurements."""
    return state_dir() / "measured"


def new_results(kind: str, name: str, clock: Clock, path: Path | None = None) -> RunRecord:
    """A file for one command's results: the one that was named, or a fresh one whose name sorts by time.

    Raises SettingsError where the named one holds something.
    """
    if path is not None and path.exists() and path.stat().st_size:
        raise SettingsError(tr("measure.output_exists", path=path), hint=tr("measure.output_exists_next"))
    moment = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
    return RunRecord(path or results_dir() / f"{moment:%Y%m%dT%H%M%S}Z-{kind}-{name}-{os.getpid()}.jsonl", clock)


def latest_results() -> list[Path]:
    """All kept files, the newest first."""
    return sorted(results_dir().glob("*.jsonl"), reverse=True)


def head(
    target: dict[str, object],
    host: HostFacts,
    gpus: tuple[Gpu, ...] | None,
    deployment: Deployment | None,
    live: Live | None,
) -> dict[str, object]:
    """What a reader must know of where figures come from. `gpus` is None where nobody can say."""
    return {
        "schema_version": SCHEMA_VERSION,
        "fitserve": __version__,
        "target": target,
        "host": {
            "system": host.system,
            "cpu": host.cpu_model,
            "cores": host.cores,
            "memory_bytes": host.memory_total_bytes,
            "gpus": None if gpus is None else [{"name": gpu.name, "total_bytes": gpu.total_bytes} for gpu in gpus],
        },
        "deployment": None if deployment is None else deployment_table(deployment, live),
    }


def deployment_table(deployment: Deployment, live: Live | None) -> dict[str, object]:
    """A deployment as it was measured: plan, and what the engine really took. Its environment stays out."""
    return {
        "name": deployment.name,
        "model": deployment.served_model_name,
        "engine": deployment.engine,
        "plan": deployment.plan,
        "measured": plain(live.measured) if live else {},
        "stages": [{"stage": str(moment.stage), "at_s": moment.at_s} for moment in live.stages] if live else [],
    }


def memory_table(memory: tuple[tuple[float, tuple[int, ...]], ...]) -> list[list[float]]:
    """Seconds from the first look, then bytes of each card."""
    return [[round(at - memory[0][0], 3), *used] for at, used in memory]


def target_table(url: str, model: str, name: str, engine_version: str | None) -> dict[str, object]:
    """Who was asked."""
    return {"name": name or None, "url": url, "model": model, "engine_version": engine_version}
