"""The stub's engine core and worker: `python -m vllm.core core|worker ARGS`, bound to the parent by a pipe on stdin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

from vllm.said import info, raw
from vllm.script import Script, dies, read_script

READY = b"ready\n"


def start(kind: str, settings: dict[str, object]) -> subprocess.Popen[bytes]:
    """A child of this kind; it ends when our end of its stdin closes."""
    argv = [sys.executable, "-m", "vllm.core", kind, json.dumps(settings)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE if kind == "core" else None, bufsize=0)


def core(script: Script, settings: dict[str, object]) -> None:
    """The stages of a CPU start, then wait for the end."""
    model = settings["model"]
    info("EngineCore", "core.py:133", f"Initializing a V1 LLM engine (v0.32.0) with config: model='{model}', stub")
    worker = start("worker", settings)
    stage(script, "load")
    info("Worker", "cpu_model_runner.py:68", f"Starting to load model {model}...")
    info("Worker", "default_loader.py:501", "Loading weights took 0.05 seconds")
    stage(script, "profile")
    info("Worker", "gpu_model_runner.py:5150", "Model loading took 0.01 GiB memory and 0.100000 seconds")
    stage(script, "kv_alloc")
    if 0 < script.kv_tokens < int(str(settings["length"])):
        fails(too_short(script.kv_tokens, int(str(settings["length"]))))
    info("Worker", "cpu_worker.py:260", "Explicitly set (1.0/14.09) GiB for KV cache on node 0.")
    tokens = f"CPU KV cache size: 883,011 tokens, Maximum concurrency for {settings['length']:,} tokens per request: "
    info("EngineCore", "kv_cache_utils.py:2327", f"{tokens}{883011 / int(str(settings['length'])):.2f}x")
    stage(script, "warmup")
    info("EngineCore", "core.py:402", "init engine (profile, create kv cache, warmup model) took 0.10 s")
    os.write(2, READY)
    sys.stdin.buffer.read()
    worker.terminate()


def stage(script: Script, name: str) -> None:
    """Come to a stage: slowly, or never, or to one's death."""
    time.sleep(script.stage_s)
    if dies(script, name):
        fails(script.die_with, name)
    while script.hang_at == name:
        time.sleep(60)


def fails(error: str, where: str = "start") -> None:
    """Die with a traceback, as the core does."""
    raw(f"(EngineCore pid={os.getpid()}) Traceback (most recent call last):")
    raw(f'(EngineCore pid={os.getpid()})   File "core.py", line 1, in {where}')
    raw(f"(EngineCore pid={os.getpid()}) {error}")
    os._exit(1)


def too_short(tokens: int, length: int) -> str:
    """vllm/v1/core/kv_cache_utils.py of 0.32, for 1 GiB a 100,000 tokens."""
    return (
        f"ValueError: To serve at least one request with the model's max seq len ({length}), "
        f"({length / 1e5:.2f} GiB KV cache is needed, which is larger than the available KV cache memory "
        f"({tokens / 1e5:.2f} GiB). Based on the available memory, the estimated maximum model length is {tokens}. "
        "Try increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) or decreasing "
        "`max_model_len` when initializing the engine."
    )


def worker(script: Script) -> None:
    """Waits. An orphan in the making hears neither TERM nor its parent's death."""
    if script.orphan:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    told = read_script()
    if told.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.argv[1] == "core":
        core(told, json.loads(sys.argv[2]))
    else:
        worker(told)
