"""`fitserve watch`: a recording from end to end, an address that answers or not, and text that stays text."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample
from fitserve.observe.moments import Moment, SampleLog, read_moments
from fitserve.observe.overview import History
from fitserve.observe.recorder import samples_file
from fitserve.run.deployment import Deployment
from fitserve.run.registry import save
from fitserve.text import choose_language
from fitserve.tui.watch import page
from fitserve.units import GIB, MIB
from observe.made_run import made_run, stopped
from observe.test_windows import PAGES, V0_8

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "CACHE", "CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"XDG_{name}_{'DIR' if name == 'RUNTIME' else 'HOME'}", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "140")


def recorded(path: Path, moments: list[Moment]) -> str:
    log = SampleLog(path)
    for moment in moments:
        log.add(moment)
    return str(path)


def watch(*args: str) -> int:
    return told(app, ["watch", *args])


def shown(moments: list[Moment], width: int = 140) -> str:
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as capture:
        console.print(page(History(moments).overview(60), width))
    return capture.get()


def leaks(second: float, card: CardSample) -> CardSample:
    return replace(card, used_bytes=20 * GIB + int(second * MIB / 4), slow_reasons=("power_cap",))


def test_a_recording_tells_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--replay", recorded(tmp_path / "run.jsonl", made_run(change=leaks))) == 0
    out = capsys.readouterr().out
    assert not CONTROL.search(out)
    text = " ".join(out.split())
    for part in (
        "GPU 1 NVIDIA",
        "20.29 of 23.56 GiB",
        "20.50 GiB",
        "70 °C",
        "330 / 350 W",
        "1700 / 2100 MHz",
        "power limit (now, and 100 % of the time)",
        "growing 900.0 MiB/h ± 0 B/h (over 20 min)",
        "3 running · 1 waiting · 30 finished in 60 s",
        "450 in · 50.0 out",
        "p50 ≈194 ms (100 ms–250 ms)",
        "42.0 % in use",
        "prefix 10 % · pictures 50 %",
        "0 in 60 s",
        "weights 12.00 (measured 12.00)",
        "VLLM::Worker_TP0 (21) 20.00 GiB",
        "1.5 cores busy",
        "between cards even",
        "a guess between the edges",
    ):
        assert part in text, text


def test_a_real_run_on_a_processor(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--replay", str(PAGES / "watch-demo-cpu.jsonl")) == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "GPUs: unknown",
        "demo answering",
        "18 finished in 11 s",
        "p50 ≈545 ms (500 ms–750 ms)",
        "of 1008",
        "p99 ≈41 ms (25 ms–50 ms)",
        "growth unknown: 11 s of samples",
        "KV cache 1.00 (measured 1.00)",
    ):
        assert part in text, text


def test_json_lines_are_a_recording_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moments = made_run(100)
    assert watch("--replay", recorded(tmp_path / "run.jsonl", moments), "--json") == 0
    lines = capsys.readouterr().out
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [(row["schema_version"], row["kind"]) for row in rows] == [(1, "watch")] * 10
    assert rows[-1]["figures"][0]["window"]["running"] == 3
    (tmp_path / "again.jsonl").write_text(lines)
    assert list(read_moments(tmp_path / "again.jsonl")) == moments


def test_once_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path / "run.jsonl", made_run(50))
    assert watch("--replay", path, "--json", "--once") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_one_that_was_down_at_the_end_is_not_called_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moments = made_run(50)
    assert watch("--replay", recorded(tmp_path / "run.jsonl", [*moments[:-1], stopped(moments[-1])])) == 1
    assert "lead starting" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("width", [30, 60, 104, 105, 200])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_width_and_both_languages(width: int, language: str) -> None:
    choose_language(language)
    lines = shown(made_run(), width).splitlines()
    assert all(Console(width=500).measure(line).maximum <= width for line in lines)
    text = "".join("".join(lines).split())
    assert "23.56GiB" in text
    assert ("首token" if language == "zh" else "firsttoken") in text


def test_strangers_names_are_text() -> None:
    evil = "\x1b]0;x\x07[red]\x1b[2J"
    moments = made_run(
        50, change=lambda _s, card: replace(card, name=evil, processes=(GpuProcess(1, None, evil + "y"),))
    )
    moments = [replace(m, services=(replace(m.services[0], detail=evil + "z", name=evil),)) for m in moments]
    out = shown(moments)
    assert not CONTROL.search(out)
    assert "[red]y (1)" in out
    assert "[red]z" in out


def test_unknown_is_said() -> None:
    silent = shown(made_run(100, change=lambda _second, card: CardSample(card.index)))
    assert silent.count("unknown") >= 12
    away = shown([replace(m, sample=replace(m.sample, cards=None)) for m in made_run(100)])
    assert "no driver answers here" in away


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("nobody",), 3, "There is no deployment nobody"),
        (("--replay", "/nowhere.jsonl"), 3, "There is no recording"),
        (("--replay", __file__), 2, "holds no samples"),
        (("x", "--url", "http://h"), 2, "one of them"),
        (("--url", "ftp://h"), 2, "ftp://h"),
    ],
)
def test_what_can_not_be_watched(
    args: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch(*args, "--once") == code
    assert words in capsys.readouterr().err


def test_a_machine_without_anything(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--once", "--interval", "0") == 1
    out = capsys.readouterr().out
    assert "Nothing of fitserve runs here" in out
    assert "of memory free" in out


class Served(BaseHTTPRequestHandler):
    """Pages by path; others are 404."""

    pages: dict[str, tuple[int, str]]

    def do_GET(self) -> None:
        status, body = self.pages.get(self.path, (404, ""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    made = HTTPServer(("127.0.0.1", 0), Served)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("pages", "code", "words"),
    [
        ({"/health": (200, ""), "/metrics": (200, V0_8)}, 0, "2 running"),
        ({"/health": (503, ""), "/metrics": (200, V0_8)}, 1, "failed /health: HTTP 503"),
        ({"/v1/models": (200, "{}")}, 0, "it answers, but tells no vLLM metrics"),
        ({"/v1/models": (401, "{}"), "/metrics": (200, "other 1\n")}, 0, "tells no vLLM metrics"),
        ({}, 1, "unreachable /v1/models: HTTP 404"),
    ],
)
def test_an_address(
    server: HTTPServer, pages: dict[str, tuple[int, str]], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Served.pages = pages
    assert watch("--url", f"http://127.0.0.1:{server.server_port}/v1", "--once", "--interval", "0") == code
    assert words in " ".join(capsys.readouterr().out.split())


def test_nobody_at_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert watch("--url", f"127.0.0.1:{port}", "--once", "--interval", "0", "--json") == 1
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["services"][0]["state"] == "unreachable"
    assert row["services"][0]["detail"]


def test_what_the_runner_recorded_counts(capsys: pytest.CaptureFixture[str]) -> None:
    save(Deployment("lead", "/m", "lead", "127.0.0.1", 1, ("python",), {}, "vllm 0.33.0"))
    recorded(samples_file("lead"), made_run(1200))
    for args in (["lead"], []):
        assert watch(*args, "--once", "--json", "--interval", "0") == 1
        (row,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert row["services"][0]["state"] == "stopped"
        assert row["machine"]["samples"] == 122
