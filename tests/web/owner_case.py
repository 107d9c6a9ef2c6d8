"""Deployments as the page meets them, without a process: on a processor, on two cards, and on its way down."""

from __future__ import annotations

from dataclasses import replace

from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample
from fitserve.observe.metrics import Metrics
from fitserve.run.deployment import Deployment
from fitserve.run.live import Evidence, Live, Reason, StageTime, State
from fitserve.run.view import View
from fitserve.stage import Stage
from fitserve.units import GIB
from fitserve.web.status import Seen

NOW = 1_780_000_000.0
STAGES = (StageTime(Stage.CONFIG, 0.0), StageTime(Stage.LOAD, 4.0), StageTime(Stage.PROFILE, 64.0))


def ledger_row(item: str, gib: float | None, **more: object) -> dict[str, object]:
    size = None if gib is None else int(gib * GIB)
    return {"item": item, "low": size, "expected": size, "high": size, "basis": "exact", "transient": False, **more}


def plan(**settings: object) -> dict[str, object]:
    rows = [
        ledger_row("weights", 11.0),
        ledger_row("activation_peak", None),
        ledger_row("kv_pool", 8.0),
        ledger_row("reserve", 1.0),
        ledger_row("load_repack", 2.0, transient=True),
    ]
    return {"settings": {"tensor_parallel_size": 2, "enforce_eager": False, **settings}, "ledger": rows}


def deployment(engine: str = "vllm 0.33.0", env: dict[str, str] | None = None, **settings: object) -> Deployment:
    return Deployment("shop", "/m", "qwen", "127.0.0.1", 8000, (), env or {}, engine, plan(**settings))


def view(state: State = State.ANSWERING, of: Deployment | None = None, **live: object) -> View:
    measured = {"weights_bytes": 11 * GIB, "kv_bytes": 7 * GIB}
    fields: dict[str, object] = {"since": NOW - 60, "stages": STAGES, "measured": measured, **live}
    return View(of or deployment(), Live("shop", state, **fields), state, page_runs=True)  # type: ignore[arg-type]


def failed() -> View:
    evidence = Evidence("torch.OutOfMemoryError: CUDA out of memory. \x1b[31mTried\x1b[0m", 214)
    return view(State.FAILED, reason=Reason.ENGINE_DIED, detail="exit 1", evidence=evidence)


def cards(used_gib: float = 20.0) -> Sample:
    card = CardSample(0, "NVIDIA GeForce RTX 3090", "GPU-aaaa-0", 24 * GIB, int(used_gib * GIB))
    more = tuple(replace(card, index=number, uuid=f"GPU-{number}bbb-1") for number in (1, 2))
    return Sample(NOW, (card, *more), HostSample(64 * GIB, 40 * GIB))


def metrics(**values: float) -> Metrics:
    return Metrics(values)


def seen(**fields: object) -> Seen:
    known: dict[str, object] = {"answers": True, "view": view(), "sample": cards(), "metrics": None, **fields}
    return Seen(NOW, "http://127.0.0.1:8000", "qwen", **known)  # type: ignore[arg-type]
