"""Run cases one after the other on the cards of this host, and write each result at once.

    python tools/gpu_lab/run.py --out DIR --gpus 0,1 --seconds 560 two-plan two-articles

DIR gets, for each case: CASE.json (settings, predicted and measured), CASE.log (the engine's), CASE.samples.jsonl (the
cards, for `fitserve watch --replay`) and CASE.bench.jsonl (for `fitserve report`).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import client
from cases import Case, facts, on_capped, plan_table, planned, predicted, read_cases
from engine import DUMMY_FLAGS, GPU_FLAGS, Engine, argv_of, env_of
from models import GEOMETRIES, write_model
from steps import Subject, measure
from watch import Memory, Recorder

from fitserve.demo import model_dir
from fitserve.facts.gpu import Gpu
from fitserve.facts.read_gpus import read_gpus
from fitserve.plan.document import settings_document

HERE = Path(__file__).parent
_MEASURE_UNTIL_END_S = 12  # left of a case's time for the stop and the files
_MEMORY_BACK_S, _IDLE_BYTES = 20, 2 * 2**30


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gpus", default="", help="indices of the cards to use; none for the CPU engine")
    parser.add_argument("--seconds", type=float, default=1e9, help="wall clock for all of them")
    parser.add_argument("--port", type=int, default=8300)
    parser.add_argument("--work", type=Path, default=Path("/tmp/gpu_lab"), help="for model folders and caches")
    parser.add_argument("--twin", type=Path, help="folder of the demo model's MoE twin")
    parser.add_argument("--python", default=sys.executable, help="the engine's interpreter (default: this one)")
    parser.add_argument("--version", default="0.22.1", help="the engine's version, for the plan")
    return parser.parse_args()


def main() -> None:
    """Every case, or a line why not."""
    options, until = arguments(), time.monotonic()
    until += options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    cases, loads = read_cases()
    gpus = tuple(int(index) for index in options.gpus.split(",") if index)
    for name in options.cases:
        case, left = cases[name], until - time.monotonic()
        if left < case.needs_s:
            _write(options.out, name, {"outcome": "not_run", "why_not": f"{left:.0f} s were left"})
            continue
        try:
            result = _run(case, loads, options, gpus, time.monotonic() + min(case.guard_s, left - 3))
        except Exception:  # noqa: BLE001 - the next case must have its turn
            result = {"outcome": "lab_failed", "why_not": traceback.format_exc()}
        _write(options.out, name, result)


def _run(
    case: Case, loads: dict[str, list[list[int]]], options: argparse.Namespace, gpus: tuple[int, ...], until: float
) -> dict[str, Any]:
    folder = _model(case, options)
    model = facts(case, folder)
    gpus = gpus[: len(case.cards)]
    holder, cards = _hold(case, gpus, options.python)
    log, memory = options.out / f"{case.name}.log", Memory(gpus)
    url = f"http://127.0.0.1:{options.port}"
    recorder = Recorder(options.out / f"{case.name}.samples.jsonl", log, gpus, case.name, url)
    recorder.start()
    engine = None
    result: dict[str, Any] = {"outcome": "failed", "alone": case.alone, "cards": cards, "held_bytes": memory.used()}
    try:
        plan, chosen = planned(case, model, options.version)
        settings = replace(
            on_capped(case, chosen, cards[0]["total_bytes"] if cards else 0), served_model_name=client.MODEL
        )
        dummy = DUMMY_FLAGS if case.model in GEOMETRIES else ()
        argv = argv_of(
            settings, options.python, folder, options.port, (*dummy, *(GPU_FLAGS if gpus else ()), *case.flags)
        )
        env = env_of(gpus, case.env)
        result |= {"plan": plan_table(plan, chosen), "settings": settings_document(settings)}
        result |= {"argv": list(argv[1:]), "env": {**env_of(gpus, {}), **case.env}}
        if cards:
            result["predicted"] = predicted(case, model, settings, options.version, _card(cards[0]["total_bytes"]))
        print(f"{case.name}: starts", flush=True)
        engine = Engine(argv, env, log, url)
        started = engine.wait(until)
        result |= {"started": asdict(started), "answering_bytes": memory.used()}
        print(f"{case.name}: {started}", flush=True)
        if started.answered_s is not None:
            result["outcome"] = "answered"
            subject = Subject(
                engine.url, memory, settings.max_model_len, options.out, case.name, options.version,
                until - _MEASURE_UNTIL_END_S,
            )  # fmt: skip
            result["measured"] = _measured(case, subject, loads)
            result |= {"after_bytes": memory.used(), "metrics": _chosen(client.metrics(engine.url))}
        elif started.exit_code is None:
            result["outcome"] = "timed_out"
    finally:
        if engine:
            result["stop_s"] = engine.stop()
        recorder.end()
        if holder:
            holder.send_signal(signal.SIGKILL)
            holder.wait(10)
    return result


def _measured(case: Case, subject: Subject, loads: dict[str, list[list[int]]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for step in case.measure:
        if time.monotonic() > subject.until:
            found[step] = {"not_run": "no time was left"}
            continue
        began = time.monotonic()
        try:
            with _quiet(subject.out) if step.startswith("load:") else contextlib.nullcontext():
                began = time.monotonic()
                found[step] = measure(step, subject, loads)
        except Exception as error:  # noqa: BLE001 - a step that fails is a result
            found[step] = {"failed": f"{type(error).__name__}: {error}"}
        print(f"{case.name}: {step} took {time.monotonic() - began:.1f} s", flush=True)
    return found


@contextlib.contextmanager
def _quiet(out: Path) -> Iterator[None]:
    """Wait for other lanes' loads, and for whoever else keeps this lock: no measurement of speed beside another."""
    with (out / "loads.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _hold(case: Case, gpus: tuple[int, ...], python: str) -> tuple[subprocess.Popen[str] | None, list[dict[str, int]]]:
    """Hold the cards' memory but for the cap, once what ran before has given it back; what they have then."""
    if not gpus or case.cap_bytes is None:
        return None, []
    if not case.alone:
        found = read_gpus()
        return None, [{"total_bytes": one.total_bytes, "free_bytes": one.free_bytes} for one in found]
    patience = time.monotonic() + _MEMORY_BACK_S
    while max(Memory(gpus).used(), default=0) > _IDLE_BYTES and time.monotonic() < patience:
        time.sleep(0.2)
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))}
    holder = subprocess.Popen(
        [python, HERE / "hold.py", str(case.cap_bytes)], env=env, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    return holder, json.loads(holder.stdout.readline())


def _model(case: Case, options: argparse.Namespace) -> Path:
    if case.model in GEOMETRIES:
        return write_model(case.model, options.work / "models" / case.model)
    if case.model == "demo":
        return model_dir()
    if options.twin is None or not (options.twin / "config.json").is_file():
        raise FileNotFoundError("--twin: no such model")
    return Path(options.twin)


def _card(total_bytes: int) -> Gpu:
    """The card as this host's driver names it, with CUDA's total."""
    found = read_gpus()
    first = found[0] if isinstance(found, tuple) and found else Gpu(0, "H200", total_bytes, None, (9, 0))
    return replace(first, total_bytes=total_bytes, processes=(), uuid="")


def _chosen(page: str) -> list[str]:
    """The lines of `/metrics` that say what the engine is and did, without the histograms' buckets."""
    return [line for line in page.splitlines() if line.startswith("vllm:") and "_bucket" not in line]


def _write(out: Path, name: str, result: dict[str, Any]) -> None:
    table = {"schema_version": 1, "kind": "gpu_case", "name": name, **result}
    (out / f"{name}.json").write_text(json.dumps(table, indent=1, default=str) + "\n", encoding="utf-8")
    log = out / f"{name}.log"
    if log.exists() and result["outcome"] != "answered":
        shutil.copy(log, out / f"{name}.failed.log")
    print(f"{name}: {result['outcome']} {result.get('why_not', '')}", flush=True)


if __name__ == "__main__":
    main()
