"""`fitserve compare` as typed, against the stub engine under real supervision: starts, stops, what stays of it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.run.small_model import write_model
from tests.stub_engine.interpreter import make_interpreter

from fitserve.cli.compare import command
from fitserve.cli.compare_settings import merged, parse_setting
from fitserve.cli.tune import command as tune
from fitserve.cli.up import command as up
from fitserve.errors import NotFound, SettingsError
from fitserve.observe.record import read_record
from fitserve.run.registry import names
from fitserve.run.supervisor import Supervisor
from fitserve.run.view import look

pytestmark = pytest.mark.process

Say = Callable[..., Result]
QUICK = (
    "--rounds",
    "2",
    "--questions",
    "2",
    "--requests",
    "6",
    "--warmup",
    "1",
    "--size",
    "64",
    "--output-tokens",
    "4",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "small")


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Say]:
    short = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))  # a socket's path has to be short
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    monkeypatch.setenv("FITSERVE_LANG", "en")
    monkeypatch.setenv("STUB_ENGINE", json.dumps({"token_s": 0.001}))
    monkeypatch.chdir(tmp_path)
    engine = str(make_interpreter(tmp_path / "engine"))
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", engine)

    def run(*words: object) -> Result:
        return CliRunner().invoke(command, [*QUICK, "--engine-python", engine, *map(str, words)])

    yield run
    Supervisor().end()
    shutil.rmtree(short)


def test_settings_are_started_measured_and_gone(say: Say, model: Path, tmp_path: Path) -> None:
    done = say(model, "eager", "seqs=2", "--json", "-o", tmp_path / "kept.jsonl")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["kind"], document["base"], document["failed"]) == ("comparison", "eager", [])
    assert document["figures"]["seqs=2"]["first_token_s"]["count"] in (1, 2)  # a lagging machine leaves a round out
    rows = list(read_record(tmp_path / "kept.jsonl"))
    starts = [(row["setting"], row["round"]) for row in rows if row["event"] == "round"]
    assert starts == [("eager", 0), ("seqs=2", 0), ("seqs=2", 1), ("eager", 1)]
    measured = next(row for row in rows if row["event"] == "round")
    assert measured["deployment"]["plan"]["settings"]["max_num_seqs"] > 2
    assert names() == []


def test_a_running_service_is_left_alone_until_told(say: Say, model: Path) -> None:
    started = CliRunner().invoke(up, [str(model), "--name", "mine", "--no-page"])
    assert started.exit_code == 0, started.output
    refused = say(model, "eager", "seqs=2")
    assert isinstance(refused.exception, SettingsError)
    assert "mine" in refused.exception.message and "--stop-running" in refused.exception.hint
    view = look("mine")
    assert view is not None and view.runs
    pid = view.live.engine.pid if view.live and view.live.engine else None
    done = say("mine", "as-is", "seqs=2", "--stop-running", "--rounds", 1)
    assert done.exit_code == 0, done.output
    assert "mine is stopped for the comparison" in done.stderr and "mine is being started again" in done.stderr
    again = look("mine")
    assert again is not None and again.runs
    assert again.live is None or again.live.engine is None or again.live.engine.pid != pid
    assert names() == ["mine"]


def test_a_setting_that_can_not_start_is_told(say: Say, model: Path) -> None:
    done = say(model, "eager", "tp=64", "--rounds", 1)
    assert done.exit_code in (1, 5), done.output
    assert "tp=64 did not start" in done.stdout
    assert names() == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("eager", {"execution": "eager"}),
        ("as-is", {}),
        ("tp=2,graphs", {"tensor_parallel_size": 2, "execution": "graphs"}),
        ("max-num-seqs=1k", {"max_num_seqs": 1000}),
        ("--kv-cache-dtype=fp8", {"kv_cache_dtype": "fp8"}),
        ("prefix-caching=false", {"enable_prefix_caching": False}),
        ("articles", {"preset": "articles"}),
    ],
)
def test_settings_as_people_type_them(text: str, values: dict) -> None:
    assert parse_setting(text) == values


@pytest.mark.parametrize("text", ["fast", "tp=", "tp=zero", "tp=0", "gpus=2xRTX3090", "execution=maybe", "=3", ""])
def test_what_is_no_setting(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_setting(text)


def test_a_setting_replaces_what_says_the_same() -> None:
    before = {"enforce_eager": True, "max_num_seqs": 8}
    assert merged(before, {"execution": "graphs"}) == {"max_num_seqs": 8, "execution": "graphs"}
    assert merged(before, {"max_num_seqs": 4}) == {"enforce_eager": True, "max_num_seqs": 4}


@pytest.mark.parametrize("settings", [("eager",), ("eager", "eager"), ("eager", "execution=eager")])
def test_there_must_be_something_to_compare(settings: tuple[str, ...]) -> None:
    assert isinstance(CliRunner().invoke(command, ["demo", *settings]).exception, SettingsError)


def test_an_unknown_name(say: Say) -> None:
    assert isinstance(say("./nothing-here", "eager", "graphs").exception, NotFound)


def test_tune_tries_what_fits_and_keeps_its_budget(say: Say, model: Path, tmp_path: Path) -> None:
    engine = str(tmp_path / "engine" / "bin" / "python")
    words = [str(model), "--only", "seqs=2 tp=64", "--minutes", "1", *QUICK[2:], "--engine-python", engine, "--json"]
    done = CliRunner().invoke(tune, words)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["kind"], document["settings"]) == ("tuning", ["as-is", "seqs=2"])
    assert [row["setting"] for row in document["removed"]] == ["tp=64"]
    assert [row["setting"] for row in document["looked"]] == ["as-is", "seqs=2"]
    assert document["offered"] is None  # the stub counts no tokens
    assert names() == []
