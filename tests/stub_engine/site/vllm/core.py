"""The stub's engine core and worker: forked, for an interpreter's start costs more than all else that they do. Each is
bound to its parent by a pipe that ends with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from vllm.said import info, raw
from vllm.script import Script, dies

READY = b"ready\n"


class Child:
    """A process that runs `work(life, news)`: `life` ends with its parent, who reads what is written to `news`."""

    def __init__(self, work: Callable[[int, int], None]) -> None:
        life, self._hold = os.pipe()
        self.news, news = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._hold)
            os.close(self.news)
            work(life, news)
            os._exit(0)
        os.close(life)
        os.close(news)

    def wait(self) -> None:
        """Until it has ended."""
        os.waitpid(self.pid, 0)


def until_the_end(life: int) -> None:
    """Until the parent is gone."""
    while os.read(life, 4096):
        pass


def core(script: Script, settings: dict[str, object], life: int, news: int) -> None:
    """The stages of a CPU start, then wait for the end."""
    model = settings["model"]
    info("EngineCore", "core.py:133", f"Initializing a V1 LLM engine (v0.32.0) with config: model='{model}', stub")
    worker = Child(lambda ours, theirs: work(script, ours, (life, news, theirs)))
    stage(script, "load")
    bytes(script.weight_bytes)  # under a memory limit: a MemoryError
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
    threading.Thread(target=end_with, args=(worker,), daemon=True).start()
    os.write(news, READY)
    until_the_end(life)
    os.kill(worker.pid, signal.SIGTERM)


def stage(script: Script, name: str) -> None:
    """Come to a stage: slowly, or never, or to one's death."""
    time.sleep(script.stage_s)
    if dies(script, name):
        fails(script.die_with, name)
    while script.hang_at == name:
        time.sleep(60)


def end_with(worker: Child) -> None:
    """The core does not outlive its worker."""
    worker.wait()
    end = "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."
    info("EngineCore", "multiproc_executor.py:1", end, "ERROR")
    os._exit(1)


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


def work(script: Script, life: int, others: tuple[int, ...]) -> None:
    """The worker waits. An orphan in the making hears neither TERM nor its parent's death."""
    for descriptor in others:  # the core's: held open here, they would hide the core's death from the server
        os.close(descriptor)
    if script.orphan:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    until_the_end(life)
