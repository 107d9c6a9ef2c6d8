"""Kept files become pages: what they must say, in both languages, with nothing fetched and nothing read as markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from fitserve.cli.report import command
from fitserve.errors import NotFound, OperationFailed
from fitserve.report.build import build
from fitserve.report.html import page
from fitserve.report.latency import steps
from fitserve.report.markdown import markdown
from fitserve.report.read import read_measured
from fitserve.text import current_language


class Links(HTMLParser):
    """Everything that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")]


def whole_page(*paths: Path) -> str:
    files = [read_measured(path) for path in paths]
    return page([build(files, language) for language in ("en", "zh")])


def test_a_bench_says_its_figures(bench_file: Path) -> None:
    report = build([read_measured(bench_file)], "en")
    text = markdown(report)
    assert "NVIDIA H200 139.00 GiB" in text and "vllm 0.22.1" in text
    assert "| 4 in flight | 40/40 |" in text
    assert "16 in flight: INVALID: our own event loop lagged 50 ms" in text
    assert "KV blocks: planned 790, the engine's 790." in text
    assert "| weights | 11.00 GiB | 11.00 GiB | 11.00 GiB | 12.00 GiB | -1.00 GiB |" in text.replace("\\", "")
    assert "requests 40 / 40" in text
    names = [chart.name for chart in report.charts]
    assert names == [
        "throughput", "latency-first_token_s", "latency-time_per_token_s", "latency-end_to_end_s",
        "ledger-demo", "memory",
    ]  # fmt: skip


def test_a_comparison_says_its_verdicts(compare_file: Path) -> None:
    report = build([read_measured(compare_file)], "en")
    text = markdown(report)
    assert "tokens/s: graphs is better than eager, 2x" in text
    assert "start: graphs is worse than eager" in text
    assert "tp=8 did not start: TP 8 needs 8 cards" in text
    assert "graphs repeats the first answers of eager word for word 29 of 30 times" in text
    assert "unknown" in text  # the cards of that host
    assert {"ratios", "figure-output_tokens_s", "memory-by-stage"} <= {chart.name for chart in report.charts}


def test_both_languages_are_inside_and_the_reader_chooses(bench_file: Path, compare_file: Path) -> None:
    html = whole_page(bench_file, compare_file)
    assert 'id="report-en" lang="en"' in html and 'id="report-zh" lang="zh"' in html
    assert "吞吐随并发的变化" in html and "Throughput against users" in html
    assert current_language() == "en"


def test_nothing_is_fetched_and_nothing_runs(bench_file: Path, compare_file: Path) -> None:
    links = Links()
    links.feed(whole_page(bench_file, compare_file))
    assert all(link.startswith("data:") for link in links.fetched)
    assert not {"script", "iframe", "link", "object"} & set(links.tags)
    assert links.tags.count("svg") == 2 * 16


def test_what_models_and_hosts_say_is_never_markup(compare_file: Path) -> None:
    html = whole_page(compare_file)
    assert "<b>blue</b>" not in html and "&lt;b&gt;blue&lt;/b&gt;" in html
    assert "A &lt;processor&gt; &amp; more" in html
    assert "\\<b\\>blue" in markdown(build([read_measured(compare_file)], "en"))


def test_the_raw_data_travels_along(bench_file: Path) -> None:
    import base64

    found = re.search(r'download="bench.jsonl" href="data:application/x-ndjson;base64,([^"]+)"', whole_page(bench_file))
    assert found is not None
    assert base64.b64decode(found[1]) == bench_file.read_bytes()


@pytest.mark.parametrize("lines", [1, 3, 60, 121])
def test_a_bench_that_died_is_reported_as_far_as_it_went(bench_file: Path, lines: int) -> None:
    kept = bench_file.read_text().splitlines(keepends=True)
    bench_file.write_text("".join(kept[:lines]) + kept[lines][:40])
    assert "fitserve" in whole_page(bench_file)


def test_a_comparison_that_died_is_reported_as_far_as_it_went(compare_file: Path) -> None:
    kept = compare_file.read_text().splitlines(keepends=True)
    compare_file.write_text("".join(kept[: len(kept) // 2]))
    assert "latency-first_token_s" in {chart.name for chart in build([read_measured(compare_file)], "zh").charts}


@pytest.mark.parametrize("content", ["", "not json\n", '{"event": "stage"}\n', '{"event": "bench", "at": "x"}\n'])
def test_other_files_are_refused_with_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(content)
    with pytest.raises(OperationFailed):
        read_measured(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_measured(tmp_path / "none.jsonl")


def test_distribution_by_hand() -> None:
    assert steps([0.2, None, 0.1]) == ((100.0, 0.0), (100.0, 0.0), (100.0, 0.5), (200.0, 0.5), (200.0, 1.0))
    assert steps([None]) == ()
    assert len(steps([number / 1000 for number in range(100_000)])) < 1000


def test_the_verb_writes_page_markdown_and_charts(bench_file: Path, tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(
        command, [str(bench_file), "-o", str(tmp_path / "out" / "r.html"), "--charts", str(tmp_path / "c")]
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "r.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "c" / "throughput.svg").read_text().startswith("<svg")
    target = str(tmp_path / "out" / "r.md")
    done = run.invoke(command, [str(bench_file), "-o", target, "--charts", str(tmp_path / "c"), "--json"])
    assert json.loads(done.stdout)["file"] == target
    assert "](../c/throughput.svg)" in Path(target).read_text()


def test_the_newest_file_is_taken(bench_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, [])
    assert isinstance(done.exception, NotFound)
    folder = tmp_path / "fitserve" / "measured"
    folder.mkdir()
    (folder / "20260101T000000Z-bench-old-1.jsonl").write_text("broken")
    bench_file.rename(folder / "20270101T000000Z-bench-new-1.jsonl")
    assert CliRunner().invoke(command, []).exit_code == 0
    assert (tmp_path / "fitserve-report.html").exists()
