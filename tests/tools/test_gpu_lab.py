"""The recorded GPU runs: the page is made from them, the planner's arithmetic meets them, the product plays them."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fitserve.cli.plan_machine import model_of
from fitserve.facts.known_models import read_known
from fitserve.observe.moments import read_moments
from fitserve.plan.passes import pictures_at_once
from fitserve.plan.settings import Settings
from fitserve.report.bench import bench_sections
from fitserve.report.read import read_measured

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "data" / "gpu"
GIB = 2**30
STARTED = ("half-plan", "half-articles", "whole-31-plan", "two-plan", "two-articles")


@pytest.fixture(scope="module")
def lab() -> ModuleType:
    """The lab's report; by its path, because other tools have modules of the same name."""
    spec = importlib.util.spec_from_file_location("gpu_lab_report", ROOT / "tools" / "gpu_lab" / "report.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_what_the_command_makes(lab: ModuleType) -> None:
    for path, text in lab.pages().items():
        assert path.read_text(encoding="utf-8") == text, path.name


@pytest.mark.parametrize("name", STARTED)
def test_the_cache_follows_to_the_token_from_the_measured_pool(lab: ModuleType, name: str) -> None:
    case = next(case for case in lab.results() if case["name"] == name)
    assert lab._follows(case, case["predicted"]["kv"], case["log"]["kv_tokens"])


@pytest.mark.parametrize(("name", "blocks"), [("whole-31-plan", 128), ("two-plan", 128)])
def test_the_graph_probe_took_a_block_for_each_captured_sequence(lab: ModuleType, name: str, blocks: int) -> None:
    case = next(case for case in lab.results() if case["name"] == name)
    computed = blocks * case["predicted"]["kv"]["bytes_per_block"]
    assert [seen for seen in case["probe_seen_bytes"] if abs(seen / computed - 1) > 0.03] == []


def test_default_sequences_leave_too_little_for_the_probe(lab: ModuleType) -> None:
    case = next(case for case in lab.results() if case["name"] == "whole-31-defaults")
    probe = next(row["expected"] for row in case["predicted"]["ledger"] if row["item"] == "graph_probe")
    assert case["predicted"]["verdict"] == "does_not_fit"
    loaded = (case["log"]["ranks"]["0"]["loaded"] + 0.5) * GIB  # weights, and the context of one card
    assert loaded + probe > case["cards"][0]["free_bytes"]


def test_measured_rows_stand_beside_the_predicted_ones(lab: ModuleType) -> None:
    case = next(case for case in lab.results() if case["name"] == "two-plan")
    rows = {name: values for name, _, _, values in lab.ledger_rows(case)}
    assert [round(value / GIB, 2) for value in rows["context"]] == [2.0, 2.0]
    assert [round(value / GIB, 2) for value in rows["activation_peak"]] == [1.29, 1.29]


@pytest.mark.parametrize("path", sorted(KEPT.glob("h200-*.bench.jsonl")), ids=lambda path: path.name)
def test_a_recorded_load_is_read_as_bench_wrote_it(path: Path) -> None:
    measured = read_measured(path)
    users = [run.result.spec.pace.users for run in measured.runs if run.result]
    assert users == ([1, 16] if "-whole-47-" in path.name else [1, 4, 16, 64])
    assert all(run.samples for run in measured.runs)


def test_two_loads_of_as_many_users_make_one_report(tmp_path: Path) -> None:
    """As `bench --users 4,4` writes them: the runs of another size of pictures behind those of the first."""
    first, second = sorted(KEPT.glob("h200-two-plan-*.bench.jsonl"))
    both = tmp_path / "both.jsonl"
    shifted = [json.loads(line) for line in second.read_text(encoding="utf-8").splitlines()]
    rows = [row | {"run": row["run"] + 100} for row in shifted if "run" in row]
    both.write_text(
        first.read_text(encoding="utf-8") + "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    assert len(bench_sections(read_measured(both))) > 2


@pytest.mark.parametrize(
    ("log", "step", "at_once"),
    [("demo-graphs", 2048, 3), ("graphs-2", 8192, 14), ("half-plan", 2048, 1)],
)
def test_as_many_pictures_are_profiled_as_vllm_says(log: str, step: int, at_once: int) -> None:
    demo = model_of("demo") if log != "half-plan" else read_known("qwen3.5-35b-a3b-awq-4bit")
    settings = Settings(1, False, 32768, 64, step, True, limit_mm_per_prompt={"image": 4, "video": 0})
    assert demo.vision is not None
    assert pictures_at_once(demo.vision, settings) == at_once
    path = next(path for path in KEPT.glob(f"h200-{log}*.log.gz"))
    assert f"profiled with {at_once} image items" in gzip.decompress(path.read_bytes()).decode()


def service() -> list[dict[str, Any]]:
    return list(json.loads((KEPT / "h200-service.json").read_text(encoding="utf-8"))["steps"])


def test_the_memory_was_back_before_the_next_engine_was_started() -> None:
    """SIGKILL to the core, the API process and the runner, and SIGSTOP, on a real card."""
    faults = [step for step in service() if "changes" in step]
    assert len(faults) == 4
    for step in faults:
        first = step["changes"][0]["engine"]
        started = next(row["at_s"] for row in step["changes"] if row["engine"] not in (None, first))
        assert step["memory_back_s"] < started < step["back_s"]
        assert (step["status"], step["answer"]) == (200, "The square is white.")


def test_out_of_memory_while_capturing_ends_in_eager_mode_after_a_shorter_list() -> None:
    up = next(step for step in service() if step["step"] == "up, graphs")
    assert [retry["way"] for retry in up["told"]["retries"]] == ["capture", "eager"]
    assert up["told"]["state"] == "answering"


@pytest.mark.parametrize("path", sorted(KEPT.glob("h200-*.samples.jsonl")), ids=lambda path: path.name)
def test_a_recording_holds_moments_of_its_cards(path: Path) -> None:
    cards = {len(moment.sample.cards or ()) for moment in read_moments(path)}
    assert cards == {2 if "-two-" in path.name else 1}


def test_what_is_kept_is_small() -> None:
    assert [path.name for path in KEPT.iterdir() if path.stat().st_size > 300_000] == []
