"""A measured start beside its prediction, what it teaches, and that the next plan uses it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.cli.calibrate import command
from fitserve.cli.failure import told
from fitserve.plan.calibration import calibration_for, kind_of, read_calibration
from fitserve.plan.learn import add_start, learned_file, learned_files, spans_of
from fitserve.plan.plan import Basis
from fitserve.text import choose_language

COMMAND = (
    "vllm serve qwen3.5-35b-a3b-awq-4bit -tp 2 --max-num-seqs 16 --max-model-len 32768 --max-num-batched-tokens 2048 "
    "--enable-prefix-caching"
)
# The shape of 0.33's lines, with figures of the size that two 24 GB cards would show.
LOG = Path(__file__).parents[1] / "data" / "plan" / "start_0.33.log"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    choose_language("en")


def learn(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    args = ["--from", str(LOG), "--command", COMMAND, "--gpus", "2xRTX3090", "--engine-version", "0.33.0", "--json"]
    assert told(command, args) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_predicted_beside_measured(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["item"]: row for row in learn(capsys)["rows"]}  # type: ignore[attr-defined]  # a list of tables
    assert rows["weights"]["inside"]
    assert rows["kv_pool"]["inside"]
    assert set(rows) == {"weights", "kv_pool", "graphs", "non_torch", "context", "activation_peak"}


def test_the_next_plan_knows_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    document = learn(capsys)
    files = learned_files(Path(str(document["file"])).parent)
    found = calibration_for("NVIDIA GeForce RTX 3090", "0.33.0", files)
    assert found.basis is Basis.CALIBRATED
    assert found.engine == "0.33"
    low, middle, high = found.non_torch
    assert low < middle < high
    assert middle == pytest.approx(0.2 * 1024, abs=1)
    assert high - low < 0.2 * middle


def test_what_others_hold_is_not_taken_for_the_context(capsys: pytest.CaptureFixture[str]) -> None:
    """A real start on two cards of which another process held all but 23.56 GiB."""
    data = Path(__file__).parents[1] / "data"
    case = json.loads((data / "gpu" / "h200-two-plan.json").read_text(encoding="utf-8"))
    words = [word if word != "/models/whole" else "qwen3.5-35b-a3b-awq-4bit" for word in case["argv"][2:]]
    log, gpus = data / "gpu" / "h200-two-plan.log.gz", f"recorded:{data / 'gpus' / 'h200-x2-held.json'}"
    args = ["--from", str(log), "--command", shlex.join(["vllm", "serve", *words]), "--gpus", gpus, "--json"]
    assert told(command, args) == 0
    rows = {row["item"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["context"]["measured"] == pytest.approx(2.0 * 2**30, rel=0.01)
    assert [item for item, row in rows.items() if not row["inside"]] == ["weights"]


def test_the_figures_are_shown_with_their_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, ["--gpus", "1xRTX3090", "--engine-version", "0.30.0"]) == 0
    out = capsys.readouterr().out
    assert "rtx3090_0.30" in out
    assert "docs/accuracy.md" in out


@pytest.mark.parametrize("args", [["nobody"], ["--from", "x.log"], ["--from", "x.log", "--command", "vllm serve M"]])
def test_what_is_missing_is_told(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert told(command, args) in (2, 3)
    assert "Next:" in capsys.readouterr().err


def test_a_start_counts_once(tmp_path: Path) -> None:
    path = learned_file(tmp_path, "RTX 3090", "0.33.0")
    add_start(path, "RTX 3090", "0.33.0", "a", {"non_torch": 100.0})
    add_start(path, "RTX 3090", "0.33.0", "a", {"non_torch": 200.0})
    spans = add_start(path, "RTX 3090", "0.33.0", "b", {"non_torch": 300.0, "vision": 1.0})
    assert spans["non_torch"] == pytest.approx((184.0, 250.0, 324.0))
    assert read_calibration(path).vision[1] == 1.0


def test_names_of_one_card_are_one_kind() -> None:
    assert {kind_of(name) for name in ("NVIDIA GeForce RTX 3090", "RTX3090", "rtx-3090")} == {"rtx3090"}
    assert kind_of("RTX 3090 Ti") != kind_of("RTX 3090")


@given(st.lists(st.floats(0, 5000), min_size=1, max_size=8))
def test_spans_hold_every_start(values: list[float]) -> None:
    low, middle, high = spans_of([{"non_torch": value} for value in values])["non_torch"]
    assert low <= min(values)
    assert high >= max(values)
    assert low <= middle * 1.000001
    assert middle <= high * 1.000001 + 1e-9
