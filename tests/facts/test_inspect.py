"""`fitserve inspect`: one screen in both languages, one JSON document, and an exit code for every bad folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkpoints import TINY, write_folder

from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.facts.known_models import known_names, read_known
from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read_config import describe
from fitserve.text import choose_language

SAMPLE = Path(__file__).parent.parent / "data" / "inspect" / "model.json"


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    choose_language("en")
    yield
    choose_language("auto")


def tiny(folder: Path) -> Path:
    model = with_inferred_tensors(describe(TINY, (), read_quantization(TINY), name="x", source="x"))
    return write_folder(folder, TINY, {"model.safetensors": {t.name: (t.dtype, t.shape) for t in model.tensors}})


def run(*args: str) -> int:
    return told(app, [*args])


def test_the_json_document_is_the_documented_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(tiny(tmp_path / "tiny")), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    document["source"] = "/models/tiny"
    assert document == json.loads(SAMPLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_is_one_screen(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--lang", language, "inspect", "qwen3.5-35b-a3b-awq-4bit") == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 40 and "\x1b" not in out
    for word in ("22.76", "35.952 B", "95,427", "262,144", "group 32" if language == "en" else "分组 32"):
        assert word in out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_damage_is_shown_and_counts(tmp_path: Path, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny(tmp_path)
    (folder / "model.safetensors").write_bytes(b"")
    assert run("--lang", language, "inspect", str(folder)) == 5
    assert "model.safetensors" in capsys.readouterr().out


def test_damage_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny(tmp_path)
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(5000)
    assert run("inspect", str(folder), "--json") == 5
    document = json.loads(capsys.readouterr().out)
    assert document["integrity"]["state"] == "fail" and len(document["integrity"]["problems"]) == 1


@pytest.mark.parametrize(
    ("files", "exit_code", "code"),
    [
        ({}, 3, "not_found"),
        ({"notes.txt": "milk"}, 3, "not_found"),
        ({"config.json": json.dumps({**TINY, "text_config": {"num_attention_heads": -16}})}, 1, "broken_model"),
        ({"config.json": "{"}, 1, "broken_model"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_folders(
    tmp_path: Path, files: dict[str, str], exit_code: int, code: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    assert run("inspect", str(tmp_path), *(["--json"] if as_json else [])) == exit_code
    captured = capsys.readouterr()
    if as_json:
        assert json.loads(captured.out)["error"]["code"] == code
    else:
        assert captured.out == "" and "Error:" in captured.err and "Traceback" not in captured.err


def test_names_from_a_config_are_not_read_as_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(tmp_path, {**TINY, "architectures": ["[red]x[/red]\x1b]0;t\x07"]}, {})
    assert run("inspect", str(tmp_path)) == 5
    out = capsys.readouterr().out
    assert "[red]x[/red]" in out and "\x1b" not in out and "\x07" not in out


@pytest.mark.parametrize("as_json", [False, True])
def test_a_redirect_of_the_cards_can_be_read_back(
    tmp_path: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--json"] if as_json else []
    assert run("inspect", "gpus", "--gpus", "2xRTX3090+1xL4", *flags) == 0
    path = tmp_path / "gpus.txt"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert run("inspect", "gpus", "--gpus", f"recorded:{path}", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "gpus" and [card["name"] for card in document["gpus"]] == ["RTX 3090", "RTX 3090", "L4"]
    assert document["gpus"][0]["total_bytes"] == 25295323136


def test_a_mistyped_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "gpus", "--gpus", "RTX3900") == 2
    assert "RTX 3090" in capsys.readouterr().err


def test_without_a_model_the_known_ones_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect") == 0
    printed = capsys.readouterr().out
    assert "qwen3.5-35b-a3b-awq-4bit" in printed and "22.76" in printed and "compressed-tensors, 4 bit" in printed
    assert "fitserve inspect FOLDER" in printed
    assert run("inspect", "--json") == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert {"name", "hub", "bytes", "quantization"} == set(models[0])


def test_the_known_cards_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "gpus", "--known") == 0
    assert "RTX 3090" in capsys.readouterr().out
    assert run("inspect", "gpus", "--known", "--json") == 0
    cards = json.loads(capsys.readouterr().out)["gpus"]
    assert {"name": "RTX 3090", "visible_bytes": 25295323136} in [
        {key: card[key] for key in ("name", "visible_bytes")} for card in cards
    ]


def test_an_unknown_name_leads_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "zzz") == 3
    assert capsys.readouterr().err.rstrip().endswith(" fitserve inspect")
    assert run("inspect", "gpus", "--gpus", "2xVoodoo") == 2
    assert capsys.readouterr().err.rstrip().endswith(" fitserve inspect gpus --known")


def test_in_chinese_the_origin_of_the_facts_is_chinese_for_every_known_model() -> None:
    choose_language("zh")
    for name in known_names():
        assert not read_known(name).notes[0].rpartition("依据：")[2].isascii()
