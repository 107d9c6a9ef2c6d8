"""The verbs as a person types them, against the stub: up, status, logs, restart, down."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from small_model import write_model
from tests.run.conftest import events, marked

from fitserve.run.live import read_live
from fitserve.run.ports import is_free
from fitserve.run.supervisor import Supervisor
from fitserve.run.supervisor_conf import conf_path, socket_path

pytestmark = pytest.mark.process

Said = subprocess.CompletedProcess[str]
Say = Callable[..., Said]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "Small-Model")


@pytest.fixture
def say(home: Path, stub: Path, free_port: int, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Type a command: `say("up", model)`; keywords are the stub's script."""
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", str(stub))
    monkeypatch.setenv("FITSERVE_PORT", str(free_port))
    monkeypatch.chdir(home)

    def run(*words: object, **script: object) -> Said:
        return begin(*words, **script).finish()

    return run


class begin:  # noqa: N801 - reads as a verb
    """A command that is on its way."""

    def __init__(self, *words: object, **script: object) -> None:
        argv = [sys.executable, "-m", "fitserve", *map(str, words)]
        env = os.environ | ({"STUB_ENGINE": json.dumps(script)} if script else {})
        self.process = subprocess.Popen(argv, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self) -> Said:
        out, err = self.process.communicate(timeout=60)
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, out, err)


def nothing_runs(home: Path) -> bool:
    return not marked(home) and not Supervisor().processes() and not socket_path().exists()


def test_a_day_with_a_deployment(say: Say, model: Path, home: Path, free_port: int) -> None:
    up = say("up", model, "--json", "--no-page")
    assert up.returncode == 0, up.stderr
    told = json.loads(up.stdout)
    assert (told["name"], told["state"], told["already_running"]) == ("small-model", "answering", False)
    assert told["url"] == f"http://127.0.0.1:{free_port}"
    assert told["probe"]["outcome"] == "answered"
    ledger = {row["item"]: row for row in told["ledger"]}
    assert ledger["kv_tokens"]["measured"] == 883011
    assert ledger["weights"]["planned"] > 0
    assert "loading the weights" in up.stderr

    again = say("up", "small-model")
    assert again.returncode == 0
    assert "is answering already" in again.stderr

    status = json.loads(say("status", "--json").stdout)
    (row,) = status["deployments"]
    assert (row["name"], row["state"], row["page_url"]) == ("small-model", "answering", None)
    assert row["pid"] == read_live("small-model").engine.pid

    logs = say("logs", "-n", "2")
    assert len(logs.stdout.splitlines()) == 2

    restart = say("restart", "small-model", "--json")
    assert restart.returncode == 0, restart.stderr
    assert read_live("small-model").engine.pid != row["pid"]

    down = say("down", "small-model")
    assert (down.returncode, down.stdout) == (0, "small-model is stopped.\n")
    assert nothing_runs(home)
    assert is_free("127.0.0.1", free_port)
    assert say("down", "small-model").stdout == "small-model was not running.\n"
    assert json.loads(say("status", "--json").stdout)["deployments"][0]["state"] == "stopped"


def test_the_page_comes_along(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--json")
    assert up.returncode == 0, up.stderr
    told = json.loads(up.stdout)
    with urllib.request.urlopen(told["page_url"], timeout=30) as page:
        assert page.status == 200
    assert json.loads(say("status", "--json").stdout)["deployments"][0]["page_url"] == told["page_url"]
    page_port = int(told["page_url"].rpartition(":")[2])
    assert say("down", "small-model").returncode == 0
    assert nothing_runs(home)
    assert is_free("127.0.0.1", page_port)


def test_two_at_once_one_wins(say: Say, model: Path, home: Path) -> None:
    both = [begin("up", model, "--json", "--no-page", stage_s=0.2) for _ in range(2)]
    told = [one.finish() for one in both]
    assert [one.returncode for one in told] == [0, 0]
    assert sorted(json.loads(one.stdout)["already_running"] for one in told) == [False, True]
    assert any("being started by another command" in one.stderr for one in told)
    assert len(marked(home)) == 3


def test_other_settings_need_a_stop_first(say: Say, model: Path) -> None:
    assert say("up", model, "--no-page").returncode == 0
    other = say("up", model, "--no-page", "--max-model-len", "512")
    assert other.returncode == 2
    assert "max_model_len: – → 512" in other.stderr
    assert "Next: fitserve down small-model" in other.stderr
    assert say("up", "small-model").returncode == 0


def test_a_taken_port_is_passed_over_and_said(say: Say, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FITSERVE_PORT")
    from fitserve.cli import up_plan

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", up_plan.API_PORT))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        up = say("up", model, "--no-page", "--json")
    assert up.returncode == 0, up.stderr
    assert "port 8000 is in use" in up.stderr
    assert json.loads(up.stdout)["url"] != "http://127.0.0.1:8000"


def test_a_port_that_was_asked_for_is_not_replaced(say: Say, model: Path, home: Path, free_port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port))
        taken.listen()
        up = say("up", model, "--port", free_port)
    assert up.returncode == 1
    assert f"Port {free_port} is in use." in up.stderr
    assert f"(pid {os.getpid()})" in up.stderr
    assert "Next: fitserve up … --port" in up.stderr
    assert nothing_runs(home)


def test_a_pages_port_that_was_asked_for_is_named_as_such(say: Say, model: Path, home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        up = say("up", model, "--page-port", taken.getsockname()[1])
    assert up.returncode == 1
    assert "Next: fitserve up … --page-port" in up.stderr
    assert "starting again" not in up.stderr
    assert nothing_runs(home)


def test_what_cannot_be_listened_on_is_refused_at_once(say: Say, model: Path, free_port: int) -> None:
    same = say("up", model, "--port", free_port, "--page-port", free_port)
    assert (same.returncode, "can't both have port" in same.stderr) == (2, True)
    nowhere = say("up", model, "--host", "203.0.113.7", "--insecure")
    assert (nowhere.returncode, "203.0.113.7 is no address of this machine" in nowhere.stderr) == (2, True)


def test_no_engine(say: Say, model: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FITSERVE_ENGINE_PYTHON")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    up = say("up", model, "--json")
    assert up.returncode == 7
    error = json.loads(up.stdout)["error"]
    assert error["code"] == "engine_missing"
    assert error["hint"].startswith("fitserve engine install ")
    assert not (home / "state").exists() or not list((home / "state").rglob("deployment.json"))


def test_a_broken_model(say: Say, model: Path, home: Path) -> None:
    shard = model / "model.safetensors"
    shard.write_bytes(shard.read_bytes()[:-100])
    up = say("up", model)
    assert up.returncode == 1
    assert "model.safetensors" in up.stderr
    assert "Next: fitserve inspect" in up.stderr
    assert nothing_runs(home)


def test_a_machine_that_is_too_small(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--kv-cache-space", "90000")
    assert up.returncode == 4
    assert "90000" in up.stdout  # the plan is printed all the same
    assert "Next: fitserve plan" in up.stderr
    assert nothing_runs(home)


def test_a_start_that_fails_is_explained_and_undone(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--no-page", "--json", die_at="load", die_with="ValueError: no kernel for this")
    assert up.returncode == 1
    error = json.loads(up.stdout)["error"]
    assert (error["code"], error["hint"]) == ("engine_died", "fitserve doctor small-model")
    assert "ValueError: no kernel for this" in error["evidence"]
    assert "engine.log, line" in error["evidence"]
    assert nothing_runs(home)
    status = say("status")
    assert "failed" in status.stdout
    assert "no kernel for this" in status.stdout


def test_a_start_that_fails_for_memory_is_made_once_more_with_what_fits(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--no-page", "--json", kv_tokens=512)
    assert up.returncode == 0, up.stderr
    told = json.loads(up.stdout)
    (change,) = told["retries"]
    assert (change["way"], change["cause"], change["set"]) == ("memory", "kv_below_max_len", {"--max-model-len": 512})
    assert "small-model did not start for memory" in up.stderr
    assert "starting once more with --max-model-len 512" in up.stderr
    assert "--max-model-len 512" in " ".join(read_command("small-model"))
    last = [row for row in events("small-model") if row["event"] == "engine_started"][-1]
    assert last["retry"] == told["retries"]
    again = say("up", model, "--no-page")  # the same words: it is what runs
    assert (again.returncode, "is answering already" in again.stderr) == (0, True)


def test_who_follows_a_start_follows_it_into_the_next(say: Say, model: Path) -> None:
    both = [begin("up", model, "--json", "--no-page", stage_s=0.3, kv_tokens=512) for _ in range(2)]
    told = [one.finish() for one in both]
    assert [one.returncode for one in told] == [0, 0], [one.stderr for one in told]
    assert sorted(json.loads(one.stdout)["already_running"] for one in told) == [False, True]


def test_no_retry_is_heard_and_the_advice_stays(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--no-page", "--no-retry", kv_tokens=512)
    assert up.returncode == 1
    assert "once more" not in up.stderr
    assert nothing_runs(home)
    assert "fitserve up small-model --max-model-len 512" in say("status").stdout
    (row,) = json.loads(say("status", "--json").stdout)["deployments"]
    assert row["diagnosis"]["cause"] == "kv_below_max_len"


def test_a_change_that_does_not_help_is_not_made_twice(say: Say, model: Path, home: Path) -> None:
    words = "ValueError: To serve at least one request with the model's max seq len (2048), (2.0 GiB KV cache is needed"
    words += (
        ", which is larger than the available KV cache memory (1.0 GiB). the estimated maximum model length is 512."
    )
    up = say("up", model, "--no-page", "--json", die_at="kv_alloc", die_with=words)
    assert up.returncode == 1
    assert up.stderr.count("once more") == 1
    assert nothing_runs(home)


def test_how_long_it_will_take_is_told_from_the_start_before(say: Say, model: Path) -> None:
    assert "left" not in say("up", model, "--no-page", stage_s=0.4).stderr
    assert say("down", "small-model").returncode == 0
    assert re.search(r"loading the weights   about \d+ s left", say("up", model, "--no-page", stage_s=0.4).stderr)
    (row,) = json.loads(say("status", "--json").stdout)["deployments"]
    assert row["left_seconds"] is None  # it answers
    assert row["stages"][-1]["stage"] == "answering"


def test_a_time_limit(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--no-page", "--timeout", "1.5", hang_at="config")
    assert up.returncode == 6
    assert "stage reached: loading vLLM and the configuration" in up.stderr
    assert nothing_runs(home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_term_undo_the_start(say: Say, model: Path, home: Path, number: signal.Signals) -> None:
    up = begin("up", model, "--no-page", hang_at="load")
    while len(marked(home)) < 3:
        time.sleep(0.05)
    up.process.send_signal(number)
    said = up.finish()
    assert said.returncode == 130
    assert "the start of small-model was undone" in said.stderr
    assert nothing_runs(home)


def test_no_wait_returns_at_once(say: Say, model: Path, home: Path) -> None:
    assert say("up", model, "--no-page", "--no-wait", hang_at="load").returncode == 0
    assert json.loads(say("status", "--json").stdout)["deployments"][0]["state"] == "starting"
    assert say("down", "--all").returncode == 0
    assert nothing_runs(home)


def test_an_open_door_needs_a_key(say: Say, model: Path, home: Path) -> None:
    up = say("up", model, "--host", "0.0.0.0")
    assert up.returncode == 2
    assert "there is no key" in up.stderr
    assert nothing_runs(home)


def test_an_open_door_after_two_dashes_is_seen_too(say: Say, model: Path, home: Path) -> None:
    assert "there is no key" in say("up", model, "--", "--host", "0.0.0.0").stderr
    key = say("up", model, "--", "--api-key", "k")
    assert key.returncode == 2
    assert "Next: VLLM_API_KEY=" in key.stderr
    assert nothing_runs(home)


def test_settings_from_the_project_file(say: Say, model: Path, home: Path) -> None:
    (home / "fitserve.toml").write_text(f'[deployments.shop]\nmodel = "{model}"\npage = false\nmax_model_len = "1K"\n')
    assert say("up", "shop").returncode == 0
    assert "--max-model-len 1024" in " ".join(read_command("shop"))


def test_a_file_that_changed_meanwhile_is_told_not_refused(say: Say, model: Path, home: Path) -> None:
    (home / "fitserve.toml").write_text(f'[deployments.shop]\nmodel = "{model}"\npage = false\n')
    assert say("up", "shop").returncode == 0
    (home / "fitserve.toml").write_text(f'[deployments.shop]\nmodel = "{model}"\npage = false\nmax_num_seqs = 2\n')
    again = say("up", "shop")
    assert again.returncode == 0
    assert "runs with the settings of its start" in again.stderr


def test_what_follows_two_dashes_goes_to_the_engine(say: Say, model: Path) -> None:
    assert say("up", model, "--no-page", "--", "--seed", "7").returncode == 0
    assert read_command("small-model")[-2:] == ["--seed", "7"]


def test_a_broken_deployment_is_shown_not_hidden(say: Say, home: Path) -> None:
    path = home / "state/fitserve/deployments/shop/deployment.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    (row,) = json.loads(say("status", "--json").stdout)["deployments"]
    assert (row["name"], row["state"], row["reason"]) == ("shop", "failed", "broken_file")
    assert "shop  The deployment's file is broken." in say("status").stdout
    assert say("restart", "shop").returncode == 1
    assert say("down", "--all").returncode == 0


@pytest.mark.parametrize("words", [["up"], ["down", "nobody"], ["logs", "nobody"], ["restart"], ["status", "nobody"]])
def test_nobody_there(say: Say, words: list[str]) -> None:
    said = say(*words)
    assert said.returncode == (2 if words == ["up"] else 3)
    assert "Next: " in said.stderr


def test_logs_follow_through_a_restart(say: Say, model: Path) -> None:
    assert say("up", model, "--no-page").returncode == 0
    watcher = begin("logs", "small-model", "-f", "-n", "0")
    time.sleep(0.5)
    assert say("restart", "small-model").returncode == 0
    time.sleep(0.5)
    watcher.process.send_signal(signal.SIGINT)
    said = watcher.finish()
    assert said.returncode == 130
    assert said.stdout.count("Resolved architecture") == 1


def test_supervisorctl_works_on_it(say: Say, model: Path) -> None:
    assert say("up", model, "--no-page").returncode == 0
    argv = [sys.executable, "-m", "supervisor.supervisorctl", "-c", str(conf_path()), "status"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    assert "small-model" in said.stdout
    assert "RUNNING" in said.stdout


def read_command(name: str) -> list[str]:
    pid = read_live(name).engine.pid
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
