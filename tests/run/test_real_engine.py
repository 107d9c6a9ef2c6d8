"""The demo model on the real CPU engine with a cache that is too small: `up` reads why it died and starts it anew."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run.conftest import events, marked

from fitserve.engines.find import pick_engine
from fitserve.run.registry import load
from fitserve.run.supervisor import Supervisor
from fitserve.run.supervisor_conf import socket_path

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
BLOCKS = ("--", "--num-gpu-blocks-override", "100")  # some 12,000 tokens; the plan does not weigh this flag


@pytest.fixture(scope="module")
def engine_python() -> Path:
    """The engine to test with, found before a test gets a home of its own."""
    return pick_engine(None, "cpu").python


def say(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "fitserve", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=800)


def test_too_small_a_cache_is_met_with_the_length_that_fits(engine_python: Path, home: Path, free_port: int) -> None:
    python = ("--engine-python", str(engine_python), "--port", str(free_port))
    up = say("up", "demo", "--json", "--no-page", *python, *BLOCKS)
    assert up.returncode == 0, up.stderr
    told = json.loads(up.stdout)
    assert told["probe"]["outcome"] == "right", told["probe"]
    assert [row["stage"] for row in told["stages"]][-2:] == ["serve", "answering"]

    (change,) = told["retries"]
    assert (change["way"], change["cause"]) == ("memory", "kv_below_max_len")
    length = change["set"]["--max-model-len"]
    assert 1_000 < length < 32_768
    assert f"starting once more with --max-model-len {length}" in up.stderr
    starts = [row for row in events("demo") if row["event"] == "engine_started"]
    assert [row["retry"] for row in starts] == [[], told["retries"]]

    assert say("down", "--all").returncode == 0
    assert marked(home) == []
    assert not Supervisor().processes()
    assert not socket_path().exists()
    assert load("demo")
