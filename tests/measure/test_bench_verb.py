"""`fitserve bench` as a person types it, against the stub in a thread: figures, JSON, what is kept, Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sse_server import Endpoint as Stub
from sse_server import Programme

from fitserve.cli.bench import command
from fitserve.cli.failure import told
from fitserve.errors import SettingsError
from fitserve.observe.record import read_record

pytestmark = pytest.mark.process


class Served:
    """The stub with a loop of its own."""

    def __init__(self, stub: Stub) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(stub.serve())
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("FITSERVE_LANG", "en")
    served = Served(Stub(lambda _number, _body: Programme(0.005, 0.001)))
    yield served.url
    served.end()


def say(*words: str) -> Result:
    return CliRunner().invoke(command, [*words, "--size", "64", "--output-tokens", "5"])


def test_figures_for_each_number_of_users(url: str, tmp_path: Path) -> None:
    done = say(url, "--users", "1,2", "--requests", "10")
    assert done.exit_code in (0, 5), done.output  # 5: this machine is too busy, and it says so
    assert "1 in flight" in done.stdout and "2 in flight" in done.stdout and "10/10" in done.stdout
    assert "The server counted the same: requests 10" in done.stdout
    (kept,) = (tmp_path / "fitserve" / "measured").glob("*-bench-url-*.jsonl")
    assert f"fitserve report {kept}" in done.stderr.replace("\n", "")
    rows = list(read_record(kept))
    assert [row["event"] for row in rows if row["event"] != "sample"] == ["bench", "run", "result", "run", "result"]
    parts = [(row["run"], row["part"]) for row in rows if row["event"] == "sample"]
    assert parts == [(0, "warmup")] + [(0, "measured")] * 10 + [(1, "warmup")] * 2 + [(1, "measured")] * 10


def test_one_json_document(url: str) -> None:
    done = say(url, "--rate", "200", "--requests", "20", "--goodput", "ttft:9000,e2e:9000", "--json")
    document = json.loads(done.stdout)
    assert (document["schema_version"], document["kind"], len(document["runs"])) == (1, "bench", 1)
    run = document["runs"][0]
    assert run["settings"]["pace"] == {"users": None, "rate": 200.0}
    assert run["figures"]["good"]["share"]["value"] == 1.0
    assert run["figures"]["throughput"]["output_tokens"] > 0


def test_chinese(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITSERVE_LANG", "zh")
    done = say(url, "--users", "2", "--requests", "8")
    assert "2 路" in done.stdout and "服务端" in done.stdout  # whether times agree is this machine's load, not ours


@pytest.mark.parametrize(
    "words",
    [
        ("--users", "0"),
        ("--users", "many"),
        ("--users", "2", "--rate", "3"),
        ("--goodput", "speed:3"),
        ("--body", "[1]"),
        ("--body", "{"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(command, ["http://127.0.0.1:9", *words])
    assert isinstance(done.exception, SettingsError)
    assert done.exception.hint


def test_a_file_that_holds_something_is_not_added_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text("{}\n")
    done = CliRunner().invoke(command, ["http://127.0.0.1:9", "-o", str(kept)])
    assert isinstance(done.exception, SettingsError)
    assert kept.read_text() == "{}\n"


def test_nobody_there(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert told(command, ["http://127.0.0.1:9", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "endpoint_unreachable"
    assert not list(tmp_path.rglob("*.jsonl"))


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    served = Served(Stub(lambda number, _body: Programme(0.005 if number < 12 else 60.0, 0.001)))
    out = tmp_path / "kept.jsonl"
    argv = [sys.executable, "-m", "fitserve", "bench", served.url, "--users", "2", "--requests", "40", "--size", "64"]
    env = os.environ | {"XDG_STATE_HOME": str(tmp_path), "FITSERVE_LANG": "en"}
    process = subprocess.Popen(
        [*argv, "--output-tokens", "5", "-o", str(out)], env=env, stdout=-1, stderr=-2, text=True
    )
    try:
        while process.poll() is None and _measured(out) < 8:  # 2 for the picture's cost, 2 to warm up, 8 measured
            pass
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        served.end()
    assert process.returncode == 130, said
    assert "stopped early: 32 unfinished requests not counted" in said
    assert next(row for row in read_record(out) if row["event"] == "result")["figures"]["answered"] == 8


def _measured(path: Path) -> int:
    return sum(row.get("part") == "measured" for row in read_record(path)) if path.exists() else 0
