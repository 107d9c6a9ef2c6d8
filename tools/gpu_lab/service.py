"""fitserve itself on a machine: its commands from `plan` to `down`, and faults in between. Nothing may hang it.

    python tools/gpu_lab/service.py --out DIR --engine PYTHON [--flag=VLLM_FLAG …] LANE…

Lanes: `living` (plan, check, up, verify, watch, bench; then the engine's core and the runner killed; down), `stopped`
(a small deployment beside others: the whole engine stopped, its API process killed), `shortage` (another process takes
the card's memory in the middle of a start: without a retry, with one, and while graphs are captured). Each row of
DIR/LANE.jsonl is written when it is known; DIR/LANE.usage.jsonl says who held what on the cards all the while.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
import urllib.request
from pathlib import Path

import client
from desk import Desk, Usage

from fitserve.demo import model_dir
from fitserve.paths import state_dir
from fitserve.run.deployment import engine_log
from fitserve.run.live import Live, read_live
from fitserve.run.processes import running
from fitserve.run.registry import load

HERE = Path(__file__).parent
GIB = 2**30
CORE, API, WHOLE = slice(1, 2), slice(0, 1), slice(0, None)


class Service:
    """One lane's commands."""

    def __init__(self, options: argparse.Namespace, lane: str) -> None:
        self.out, self.engine, self.flags = options.out, options.engine, tuple(options.flag)
        self.model, self.desk = options.model, Desk(options.out, lane, options.until)
        self._copy = options.out.parent / "model"  # the demo model as anybody's: its answers are not judged
        if self._copy.exists():
            self.model = str(self._copy)

    def fitserve(self, step: str, *words: str, limit_s: float = 60) -> str:
        """One command of fitserve, as a person types it."""
        return self.desk.run(step, (sys.executable, "-m", "fitserve", *words), limit_s)

    def up(self, step: str, name: str, *words: str, limit_s: float = 420) -> bool:
        """Start the demo model under this name; whether it answers."""
        wait_s = str(int(max(5, self.desk.left(limit_s) - 20)))
        engine = ("--engine-python", self.engine, "--timeout", wait_s, "--json")
        tail = ("--", *self.flags) if self.flags else ()
        self.fitserve(step, "up", self.model, "--name", name, *engine, *words, *tail, limit_s=limit_s)
        live = read_live(name)
        return live is not None and live.state == "answering"

    def begun(self, step: str, name: str, *words: str, limit_s: float = 420) -> bool:
        """As `up`; where it fails, once more with a third of the card and answers that nobody judges."""
        if self.up(step, name, *words, limit_s=limit_s):
            return True
        self.fitserve(f"doctor, {step}", "doctor", name, "--json")
        shutil.copytree(model_dir(), self._copy, dirs_exist_ok=True)
        self.model = str(self._copy)
        words = words or ("--gpu-memory-utilization", "0.3")
        return self.up(f"{step}, again", name, *words, limit_s=limit_s)

    def get(self, step: str, url: str) -> None:
        """One page over HTTP."""
        began = time.monotonic()
        try:
            with urllib.request.urlopen(url, timeout=15) as reply:
                row = {"status": reply.status, "out": reply.read().decode("utf-8", "replace")[:20_000]}
        except OSError as error:
            row = {"status": 0, "out": f"{type(error).__name__}: {error}"}
        self.desk.write(step=step, url=url, seconds=round(time.monotonic() - began, 3), **row)

    def fault(self, name: str, what: str, part: slice | None, sign: signal.Signals, limit_s: float) -> None:
        """A signal to a part of the engine (None: to the runner); every change until it answers again."""
        before = read_live(name)
        if before is None or before.engine is None or before.runner is None or self.desk.left(limit_s) < 20:
            self.desk.write(step=what, not_run=f"{before.state if before else 'nothing there'}, or no time")
            return
        pids = [before.runner.pid] if part is None else tree(before)[part]
        used, began = self.desk.used(), time.monotonic()
        for pid in pids:
            os.kill(pid, sign)
        rows: list[dict[str, object]] = []
        until = began + self.desk.left(limit_s)
        back = None
        while time.monotonic() < until and back is None:
            live = read_live(name)
            _changed(rows, round(time.monotonic() - began, 2), live, self.desk.used())
            if live and (live.state == "failed" or _again(live, before)):
                back = round(time.monotonic() - began, 2)
            time.sleep(0.05)
        deployment = load(name)
        assert deployment
        reply = client.ask_square(deployment.url, 1, 60, model=name)
        self.desk.write(
            step=what, signal=sign.name, pids=pids, before_bytes=used, after_bytes=self.desk.used(),
            back_s=back, changes=rows, status=reply.status, answer=reply.answer[:200], answered_in_s=reply.seconds,
        )  # fmt: skip
        print(f"{what}: back after {back} s, then {reply.status} {reply.answer[:60]!r}", flush=True)


def _changed(rows: list[dict[str, object]], at_s: float, live: Live | None, used: list[int] | None) -> None:
    """A row where the state, the stage, the engine or the memory has changed."""
    now = {
        "state": str(live.state) if live else None,
        "stage": str(live.stage) if live and live.stage else None,
        "reason": str(live.reason) if live else None,
        "detail": live.detail if live else None,
        "engine": live.engine.pid if live and live.engine else None,
        "used": used,
    }
    last = {name: value for name, value in rows[-1].items() if name != "at_s"} if rows else {}
    if now != last:
        rows.append({"at_s": at_s, **now})


def _again(live: Live, before: Live) -> bool:
    return live.state == "answering" and live.engine != before.engine and live.runner != before.runner


def tree(live: Live) -> list[int]:
    """The API process, the engine core, and the first worker where there is one."""
    assert live.engine
    found, pids = running(), [live.engine.pid]
    while below := [one.pid for one in found if one.parent == pids[-1] and _works(one.pid)]:
        pids.append(min(below))
    return pids


def _works(pid: int) -> bool:
    """Not a helper, such as Python's resource tracker."""
    return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def living(service: Service, gpu: bool) -> None:
    """The main job, then two faults."""
    run, engine = service.fitserve, ("--engine-python", service.engine)
    run("engine list", "engine", "list", *engine, "--json", limit_s=200)
    run("inspect gpus", "inspect", "gpus", "--json")
    run("inspect gpus, text", "inspect", "gpus")
    run("plan", "plan", service.model, *(("--engine-version", "0.22.1") if gpu else ()), "--json")
    tail = ("--", *service.flags) if service.flags else ()
    run("check", "check", service.model, *engine, "--json", *tail, limit_s=120)
    service.begun("up", "demo")
    (service.out / "steady").touch()
    run("status", "status", "--json")
    run("status, text", "status")
    run("watch once", "watch", "demo", "--once")
    run("watch", "watch", "demo", "--json", "--interval", "1", limit_s=9)
    scrape(service)
    deployment = load("demo")
    if page := deployment and deployment.page_url:
        service.get("page", f"{page}/")
        service.get("page status", f"{page}/api/status")
        service.get("page diagnosis", f"{page}/api/diagnosis")
    run("verify", "verify", "demo", "--json", limit_s=200)
    with (service.out / "loads.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = ("--users", "1,4,16", "--requests", "32", "--json", "-o", str(service.out / "living.bench.jsonl"))
        run("bench", "bench", "demo", *words, limit_s=100)
    service.fault("demo", "SIGKILL to the engine core", CORE, signal.SIGKILL, 240)
    service.fault("demo", "SIGKILL to the runner", None, signal.SIGKILL, 240)
    run("doctor", "doctor", "demo", "--json")
    run("status after faults", "status", "--json")
    run("down", "down", "demo", "--json", limit_s=100)
    run("status after down", "status", "--json")


def scrape(service: Service) -> None:
    """`metrics serve`, one scrape, Ctrl-C."""
    argv = (sys.executable, "-m", "fitserve", "metrics", "serve", "--port", "9477")
    process = subprocess.Popen(argv, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(4)
    service.get("metrics serve", "http://127.0.0.1:9477/metrics")
    process.send_signal(signal.SIGINT)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()


def stopped(service: Service, gpu: bool) -> None:
    """A small deployment beside others: stopped as a whole; then, beside one that answers, its API process killed."""
    service.fitserve("inspect gpus", "inspect", "gpus", "--json")
    small = ("--kv-cache-memory-bytes", "1G", "--gpu-memory-utilization", "0.05") if gpu else ()
    if service.begun("up, small", "small", "--no-page", *small, limit_s=480):
        service.fitserve("inspect gpus, beside others", "inspect", "gpus", "--json")
        service.fault("small", "SIGSTOP to the engine", WHOLE, signal.SIGSTOP, 420)
        until = time.time() + service.desk.left(420 if gpu else 0)
        while not (service.out / "steady").exists() and time.time() < until:
            time.sleep(0.5)
        service.fault("small", "SIGKILL to the API process", API, signal.SIGKILL, 240)
    service.fitserve("down, small", "down", "small", "--json", limit_s=100)


def shortage(service: Service, gpu: bool) -> None:
    """Memory that goes away in the middle of a start."""
    if not gpu:
        service.up("no cache space", "short", "--no-page", "--no-retry", "--kv-cache-space", "1", limit_s=100)
        service.fitserve("doctor", "doctor", "short", "--json")
        service.fitserve("down", "down", "short", "--json")
        return
    _pressed(service, "no retry", "short", ("--no-retry",), ("--log", str(engine_log("short")), "Model loading took"))
    _pressed(service, "graphs", "graphs", ("--execution", "auto"), ("--below", str(20 * GIB)), leave=2**21, times=2)
    _pressed(service, "retry", "again", (), ("--log", str(engine_log("again")), "Model loading took"))


def _pressed(
    service: Service,
    what: str,
    name: str,
    words: tuple[str, ...],
    when: tuple[str, ...],
    leave: int = 2**26,
    times: int = 1,
) -> None:
    """One start with another process at its throat."""
    argv = (service.engine, str(HERE / "press.py"), "--leave", str(leave), "--times", str(times), *when)
    if service.desk.left(400) < 60:
        service.desk.write(step=f"up, {what}", not_run="no time was left")
        return
    log = service.out / f"press-{name}.jsonl"
    with log.open("wb") as file:
        press = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while b"ready" not in log.read_bytes() and press.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    try:
        service.up(f"up, {what}", name, "--no-page", *words, limit_s=400)
    finally:
        press.kill()
        press.wait(10)
    service.fitserve(f"status, {what}", "status", "--json")
    service.fitserve(f"doctor, {what}", "doctor", name, "--json")
    service.fitserve(f"down, {what}", "down", name, "--json", limit_s=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanes", nargs="+", choices=("living", "stopped", "shortage"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--engine", required=True, help="the engine's interpreter")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--flag", action="append", default=[], help="a word for vLLM, untouched")
    parser.add_argument("--until", type=float, default=time.time() + 7200, help="wall clock, seconds")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background has it ignored
    Usage(options.out, options.lanes[0]).start()
    for lane in options.lanes:
        service = Service(options, lane)
        try:
            globals()[lane](service, service.desk.used() is not None)
        except Exception:  # noqa: BLE001 - the next lane must have its turn
            service.desk.write(step=lane, lab_failed=traceback.format_exc())
        shutil.make_archive(str(options.out / f"state-{lane}"), "gztar", state_dir())


if __name__ == "__main__":
    main()
