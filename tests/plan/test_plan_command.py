"""`fitserve plan` at the command line: offline, one screen, JSON, exit codes, somebody's command, rows explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitserve.cli.explain import command as explain
from fitserve.cli.failure import told
from fitserve.cli.plan import command
from fitserve.plan.explain_row import ROWS
from fitserve.plan.explain_topic import TOPICS
from fitserve.text import choose_language

LEAD = ["qwen3.5-35b-a3b-awq-4bit", "--gpus", "2xRTX3090"]


@pytest.fixture(autouse=True)
def _english() -> None:
    choose_language("en")


def test_the_headline_fits_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, LEAD) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FITS")
    assert len(lines) <= 40
    assert "11.16" in "\n".join(lines)


def test_json_has_the_exact_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, [*LEAD, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    weights = next(row for row in document["ledger"] if row["item"] == "weights")
    assert weights["low"] == weights["high"] == weights["expected"]
    assert weights["basis"] == "exact"
    assert document["kv"]["block_tokens"] == 1056
    assert document["command"][:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]


@pytest.mark.parametrize(("gpus", "code"), [("1xRTX3090", 4), ("2xRTX3090", 0), ("1xRTX3070", 4)])
def test_exit_codes(gpus: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, [LEAD[0], "--gpus", gpus, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["kind"] == "plan"


def test_a_failed_check_is_exit_code_five(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, [*LEAD, "--", "--quantization", "awq"]) == 5
    out = capsys.readouterr().out
    assert "compressed-tensors" in out
    assert out.startswith("THE MEMORY FITS, THE START WILL FAIL")


def test_what_is_not_divided_is_named_in_the_readers_language(capsys: pytest.CaptureFixture[str]) -> None:
    choose_language("zh")
    assert told(command, [LEAD[0], "--gpus", "3xRTX3090", "-tp", "3"]) in (4, 5)
    out = capsys.readouterr().out
    assert "注意力头 16" in out
    assert "heads" not in out


def test_somebodys_command_and_its_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    theirs = "vllm serve qwen3.5-35b-a3b-awq-4bit -tp 2 --enforce-eager --swap-space 4 --trust-remote-code"
    assert told(command, ["--gpus", "2xRTX3090", "--from", theirs, "--json"]) == 5
    document = json.loads(capsys.readouterr().out)
    names = {check["name"]: check["state"] for check in document["checks"]}
    assert names["flags_known"] == "fail"
    assert names["remote_code"] == names["graphs_affordable"] == names["bound_to_loopback"] == "warn"
    assert document["settings"]["max_num_seqs"] == 256, "what the command leaves out has vLLM's default"
    assert document["settings"]["enforce_eager"] is True
    assert document["nearest"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_row_is_explained(row: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    choose_language(language)
    assert told(command, [*LEAD, "--explain", row]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nobody/knows-this-model-at-all", "--gpus", "2xRTX3090"],
        [*LEAD[:1], "--gpus", "2xGTX9999"],
        [*LEAD, "--explain", "moon"],
        [*LEAD, "--engine-version", "latest"],
        [*LEAD, "--max-model-len", "x"],
        [*LEAD, "--", "--max-num-seqs", "many"],
        ["--from", "vllm serve 'open"],
        ["--from", "--max-num-seqs 4"],
    ],
)
def test_bad_input_is_a_sentence(args: list[str], capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code = told(command, args)
    captured = capsys.readouterr()
    assert code in (1, 2, 3)
    assert "Traceback" not in captured.err
    assert "Next:" in captured.err


@pytest.mark.parametrize("config", ["{", "[1]", '{"architectures": ["Qwen3ForCausalLM"], "num_attention_heads": -4}'])
def test_a_broken_config_ends_with_the_next_command(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(config)
    assert told(command, [str(tmp_path), "--gpus", "2xRTX3090"]) in (1, 2)
    said = capsys.readouterr().err
    assert str(tmp_path) in said
    assert "Next:" in said


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_topic_is_explained(topic: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    choose_language(language)
    assert told(explain, [topic]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_topics_have_the_models_own_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(explain, ["tensor-parallel"]) == 0
    out = capsys.readouterr().out
    assert all(figure in out for figure in ("22.27", "11.16", "5.61"))
    assert told(explain, ["moon"]) == 3


def test_what_fits_too_is_not_crossed_out_and_a_range_below_zero_can_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert told(command, ["qwen3.5-4b", "--gpus", "2xRTX3090"]) == 0
    assert "○ --tensor-parallel-size 1: fits too" in capsys.readouterr().out
    assert told(command, [*LEAD, "--max-num-seqs", "1", "-tp", "1", "--gpu-memory-utilization", "0.5"]) == 4
    out = capsys.readouterr().out
    assert "1 sequence ·" in out
    assert "–-" not in out


def test_a_picture_below_the_peak_says_whose_the_peak_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(explain, ["images"]) == 0
    large, middle, small = (line for line in capsys.readouterr().out.splitlines() if "  largest picture" in line)
    assert "cold compile" not in large
    assert "a cold compile takes 0.47 GiB anyway" in middle
    assert "a cold compile takes 0.47 GiB anyway" in small
