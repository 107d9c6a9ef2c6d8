"""What the runner keeps of a deployment's days: one moment now and then, in a file that never grows beyond 8 MiB."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fitserve.observe.gpu_samples import NvmlSampler, Sampler
from fitserve.observe.http import request
from fitserve.observe.metrics import Metrics, read_metrics
from fitserve.observe.moments import Moment, SampleLog, Service, read_moments
from fitserve.observe.signs import Signs, service_of, signs
from fitserve.run.deployment import Deployment, deployment_dir

_MORE_RANKS = ("-pp", "--pipeline-parallel-size", "-dp", "--data-parallel-size")
_PAGE_S, _EVERY_S = 3.0, 5.0


def samples_file(name: str) -> Path:
    """The recording of a deployment, over all its runs."""
    return deployment_dir(name) / "samples.jsonl"


def deployment_service(
    deployment: Deployment,
    state: str,
    pids: Sequence[int] = (),
    metrics: Metrics | None = None,
    *,
    detail: str = "",
    measured: Mapping[str, object] | None = None,
) -> Service:
    """The deployment as a moment shows it. `measured` as the runner's meter tells it."""
    told = measured or {}
    sizes = {item: told.get(f"{key}_bytes") for item, key in (("weights", "weights"), ("kv_pool", "kv"))}
    known = {item: size for item, size in sizes.items() if isinstance(size, int)}
    cards, ledger = given_cards(deployment), planned_bytes(deployment)
    return Service(deployment.name, deployment.url, state, metrics, detail, tuple(pids), cards, ledger, known)


def planned_bytes(deployment: Deployment) -> dict[str, int]:
    """The rows of its ledger that last and are known: expected bytes of one rank."""
    rows: Any = deployment.plan.get("ledger") or []
    return {
        str(row["item"]): int(row["expected"])
        for row in rows
        if row.get("item") != "reserve" and not row.get("transient") and row.get("expected") is not None
    }


def given_cards(deployment: Deployment) -> tuple[int, ...] | None:
    """The cards that the engine was given: the first it sees, one a rank. None where that can't be told."""
    if "cpu" in deployment.engine:
        return ()
    settings: Any = deployment.plan.get("settings") or {}
    ranks = settings.get("tensor_parallel_size")
    if not isinstance(ranks, int) or any(word.startswith(_MORE_RANKS) for word in deployment.argv):
        return None
    visible = deployment.env.get("CUDA_VISIBLE_DEVICES")
    entries = [str(rank) for rank in range(ranks)] if visible is None else visible.split(",")[:ranks]
    return tuple(int(entry) for entry in entries) if all(entry.strip().isdecimal() for entry in entries) else None


class Recorder:
    """Adds one moment when it is told to. `problem` says why the last one was lost ("" when it was not)."""

    def __init__(self, deployment: Deployment, sampler: Sampler | None = None, every_s: float = _EVERY_S) -> None:
        """Looks that follow each other more closely than `every_s` are left out."""
        self._deployment, self._sampler = deployment, sampler or NvmlSampler()
        self._every_s, self._due = every_s, 0.0
        self._log = SampleLog(samples_file(deployment.name))

    @property
    def problem(self) -> str:
        """As the run record's."""
        return self._log.problem

    def add(self, state: str, pids: Sequence[int], metrics_page: str | None = None) -> None:
        """Look once; never raises. Without a page, /metrics is asked where the state is `answering`: at most 3 s."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._every_s
        if metrics_page is None:
            metrics_page = request(self._deployment, "/metrics", _PAGE_S).text if state == "answering" else ""
        sample = self._sampler.sample(pids)
        if sample is not None:
            metrics = read_metrics(metrics_page)
            self._log.add(Moment(sample, (deployment_service(self._deployment, state, pids, metrics),)))


def recorded_signs(deployment: Deployment, pids: Sequence[int] = (), sampler: Sampler | None = None) -> Signs:
    """For the doctor: what the recording says since the engine's last start, and one look at the present moment.

    Without a recording only the look counts: heat, held-back clocks and balance are known, growth is not.
    """
    try:
        moments = list(read_moments(samples_file(deployment.name)))
    except OSError:
        moments = []
    sample = (sampler or NvmlSampler()).sample(pids)
    if sample is not None:
        last = service_of(moments[-1], deployment.name) if moments else None
        metrics = last.metrics if last else None  # as last recorded: this look is at the machine only
        moments.append(Moment(sample, (deployment_service(deployment, "answering", pids, metrics),)))
    return signs(moments, deployment.name)
