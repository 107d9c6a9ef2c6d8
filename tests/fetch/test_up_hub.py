"""`fitserve up ID` as typed, against the stub of vLLM: broken off in the middle, gone on with, served."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_twin import Blob, Twin

from fitserve.run.supervisor import Supervisor
from stub_engine.interpreter import make_interpreter

pytestmark = pytest.mark.process

SHARD = "model-00001-of-00002.safetensors"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    short = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))  # a socket's path has to be short
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", str(make_interpreter(tmp_path / "engine")))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    Supervisor().end()
    shutil.rmtree(short)


def begin(*words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "fitserve", *words]
    return subprocess.Popen(argv, env=dict(os.environ), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_hub_model_from_its_id_to_an_answer(twin: Twin, home: Path) -> None:
    twin.files["model-00003.bin"] = Blob(bytes(10**6))
    twin.always = "slow"
    first = begin("up", "org/name", "--no-page")
    while not list(home.rglob("*.fitserve.incomplete")):
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130 and "Next: fitserve up org/name" in err and "Traceback" not in err
    twin.always = ""
    both = [begin("up", "org/name", "--no-page", "--json") for _ in range(2)]
    said = [one.communicate(timeout=60) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert sorted(json.loads(out)["already_running"] for out, _ in said) == [False, True]
    told = json.loads((home / "XDG_STATE_HOME/fitserve/deployments/name/deployment.json").read_text())
    assert "/snapshots/" in told["model"] and (Path(told["model"]) / SHARD).is_file()
    down = begin("down", "--all")
    assert down.communicate(timeout=60) and down.returncode == 0


@pytest.mark.parametrize("model", ["org/name", "modelscope:org/name"])
def test_a_hub_that_fails_in_the_middle(twin: Twin, home: Path, model: str) -> None:
    twin.moods, twin.always = [""] * 9, "404"
    up = begin("up", model, "--no-page", "--json")
    out, err = up.communicate(timeout=60)
    assert up.returncode == 3, err
    assert json.loads(out)["error"]["code"] == "hub_not_found"
    assert not list(home.rglob("deployment.json"))
