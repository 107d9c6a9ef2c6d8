"""`metrics serve`: what is known in Prometheus' words, nothing for what is not, and a door."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fitserve.cli import metrics as verb
from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.cli.metrics_collector import Deployed
from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample
from fitserve.observe.moments import RecordedSampler, SampleLog
from fitserve.run.deployment import Deployment, deployment_dir
from fitserve.run.live import Live, Reason, StageTime, State, live_paths, write_live
from fitserve.run.registry import save
from fitserve.stage import Stage
from observe.made_run import made_run

LEDGER = [
    {"item": "weights", "expected": 100, "transient": False},
    {"item": "workspace", "expected": None, "transient": False},
    {"item": "reserve", "expected": 7, "transient": False},
    {"item": "load_repack", "expected": 9, "transient": True},
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def failed() -> None:
    """A deployment that answered once and then failed."""
    plan: dict[str, object] = {"ledger": LEDGER, "settings": {"tensor_parallel_size": 2}}
    save(Deployment("lead", "/m", "lead", "127.0.0.1", 1, ("python",), {}, "vllm 0.33.0", plan=plan))
    live = Live(
        "lead",
        State.FAILED,
        since=50.0,
        stages=(StageTime(Stage.LOAD, 2.5),),
        failures=3,
        reason=Reason.TOO_MANY,
        probe={"outcome": "answered", "seconds": 0.25, "at": 40.0},
        measured={"weights_bytes": 101, "kv_bytes": None},
    )
    write_live(live, live_paths("lead"))
    (deployment_dir("lead") / "runs").mkdir(parents=True)
    (deployment_dir("lead") / "runs" / "1.jsonl").touch()


def recording(path: Path, change: Callable[[float, CardSample], CardSample]) -> RecordedSampler:
    SampleLog(path).add(made_run(10, change=change)[0])
    return RecordedSampler(path)


@contextmanager
def served(collector: Deployed, key: str = "") -> Iterator[int]:
    """The real server in a thread; its port."""
    urls: list[str] = []
    up = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        up.set()

    threading.Thread(target=verb.listen, args=(collector, "127.0.0.1", 0, key, ready), daemon=True).start()
    assert up.wait(10)
    yield int(urls[0].rpartition(":")[2].partition("/")[0])


def get(port: int, path: str = "/metrics", method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    reply = connection.getresponse()
    found = reply.status, reply.read().decode()
    connection.close()
    return found


def series(page: str) -> dict[str, float]:
    """Each series by its name and its labels' values."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {"/".join((one.name.removeprefix("fitserve_"), *one.labels.values())): one.value for one in samples}


def test_what_is_known(failed: None, tmp_path: Path) -> None:
    def silent(_second: float, card: CardSample) -> CardSample:
        return replace(card, power_w=None, slow_reasons=("power_cap",), processes=(GpuProcess(1, None, None),))

    with served(Deployed(recording(tmp_path / "s.jsonl", silent))) as port:
        status, page = get(port)
    found = series(page)
    assert status == 200
    assert {name: value for name, value in found.items() if name.startswith("ledger")} == {
        "ledger_predicted_bytes/lead/weights": 100,
        "ledger_measured_bytes/lead/weights": 101,
    }
    card = "0/NVIDIA GeForce RTX 3090/GPU-0000"
    expected = {
        "deployment_state/lead/failed": 1,
        "deployment_state/lead/answering": 0,
        "deployment_stage_begin_seconds/lead/load": 2.5,
        "deployment_failures_in_a_row/lead": 3,
        "deployment_runs_recorded/lead": 1,
        "deployment_state_since_timestamp_seconds/lead": 50,
        "probe_seconds/lead": 0.25,
        "probe_success/lead": 1,
        "probe_timestamp_seconds/lead": 40,
        f"gpu_temperature_celsius/{card}": 70,
        f"gpu_busy_ratio/{card}": 0.95,
        f"gpu_sm_clock_hertz/{card}": 1.7e9,
        "gpu_clock_reason/0/NVIDIA GeForce RTX 3090/power_cap/GPU-0000": 1,
        "host_memory_available_bytes": 40 * 2**30,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert not any(name.startswith("gpu_power_watts") for name in found)


def test_without_a_driver_or_a_deployment_nothing_is_zero() -> None:
    with served(Deployed()) as port:
        found = series(get(port)[1])
    assert {name.partition("/")[0] for name in found} == {
        "build_info",
        "host_memory_total_bytes",
        "host_memory_available_bytes",
    }


def test_the_door() -> None:
    with served(Deployed(), key="s3cret") as port:
        assert get(port)[0] == 401
        assert get(port, Authorization="Bearer other")[0] == 401
        assert get(port, Authorization="Bearer s3cret")[0] == 200
        assert get(port, "/", Authorization="Bearer s3cret")[0] == 404
        assert get(port, method="POST", Authorization="Bearer s3cret")[0] == 404


def test_a_public_bind_needs_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(app, ["metrics", "serve", "--host", "0.0.0.0"]) == 2
    said = capsys.readouterr().err
    assert "0.0.0.0" in said
    assert "FITSERVE_METRICS_KEY" in said


def test_a_taken_port_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Deployed()) as port:
        assert told(app, ["metrics", "serve", "--port", str(port)]) == 1
    assert f"127.0.0.1:{port}" in capsys.readouterr().err
