"""`fitserve chat` as a person types it, against an endpoint that looks at its pictures."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from PIL import Image
from tests.browser.stub import Seen, stub_endpoint

from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.run.deployment import Deployment
from fitserve.run.live import Live, State, live_paths, write_live
from fitserve.run.processes import look_up
from fitserve.run.registry import save
from fitserve.text import choose_language

Stub = tuple[str, Seen]


@pytest.fixture
def stub() -> Iterator[Stub]:
    with stub_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def red(tmp_path: Path) -> Path:
    path = tmp_path / "red.png"
    Image.new("RGB", (2048, 1024), (220, 40, 40)).save(path)
    return path


@pytest.fixture
def blue(tmp_path: Path) -> Path:
    path = tmp_path / "blue.png"
    Image.new("RGB", (64, 64), (40, 80, 220)).save(path)
    return path


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class Chat(Protocol):
    def __call__(self, *args: str | Path, typed: str = "", lang: str = "en") -> Done: ...


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Chat:
    """The command in this process: what it printed and its exit code."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FITSERVE_API_KEY", raising=False)

    def run(*args: str | Path, typed: str = "", lang: str = "en") -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = told(app, ["--lang", lang, "chat", *map(str, args)])
        choose_language("auto")
        return Done(code, *capsys.readouterr())

    return run


def test_the_whole_process(stub: Stub, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "", "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "fitserve", "chat", stub[0], "hello"]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=60, check=True)
    assert done.stdout == "I see no picture (turn 1). \n"


def test_one_question_about_a_picture(stub: Stub, red: Path, chat: Chat) -> None:
    done = chat(stub[0], "--image", red, "What is it?")
    assert (done.returncode, done.stdout) == (0, "I see red 1024x512 (turn 1). \n")
    assert "red.png: 2048x1024 -> 1024x512" in done.stderr
    assert "6 tokens, prompt 40" in done.stderr
    assert "tokens/s" not in done.stderr  # six tokens in one burst have no rate


def test_json(stub: Stub, red: Path, chat: Chat) -> None:
    done = chat("--backend-url", stub[0], "--image", red, "--json", "What is it?")
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (answer["schema_version"], answer["kind"], answer["model"]) == (1, "answer", "stub-vl")
    assert answer["answer"].startswith("I see red 1024x512")
    assert (answer["prompt_tokens"], answer["finish_reason"]) == (40, "stop")
    assert answer["pictures"][0]["original_width"] == 2048
    assert answer["first_token_seconds"] >= 0


def test_control_sequences_do_not_reach_the_terminal(stub: Stub, chat: Chat) -> None:
    assert chat(stub[0], "escape").stdout == "safe red end\n"


def test_thinking_is_beside_the_answer(stub: Stub, chat: Chat) -> None:
    done = chat(stub[0], "think")
    assert "I look at the picture." in done.stderr
    assert done.stdout == "I see no picture (turn 1). \n"


def test_a_conversation(stub: Stub, red: Path, blue: Path, chat: Chat) -> None:
    typed = (
        f"hello\n/image {red}\nwhat?\nagain?\n/image {blue}\nand now?\n/keep\n/image {red}\ncompare\n/nonsense\n/quit\n"
    )
    done = chat(stub[0], typed=typed)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "I see no picture (turn 1). ",
        "I see red 1024x512 (turn 1). ",
        "I see red 1024x512 (turn 2). ",
        "I see blue 64x64 (turn 1). ",
        "I see blue 64x64, red 1024x512 (turn 2). ",
    ]
    assert done.stderr.count("New picture") == 2
    assert "no /nonsense" in done.stderr


def test_again_undo_and_save(stub: Stub, red: Path, chat: Chat, tmp_path: Path) -> None:
    file = tmp_path / "talk.zip"
    done = chat(stub[0], typed=f"/image {red}\nwhat?\n/again\n/undo\n/drop\nhello\n/save {file}\n/save /nowhere/x\n")
    assert done.stdout.splitlines() == [*["I see red 1024x512 (turn 1). "] * 3, "I see no picture (turn 1). "]
    assert "1024x512, tokens unknown" in done.stderr
    assert "no longer sent" in done.stderr
    assert "/nowhere/x can't be written" in done.stderr
    with zipfile.ZipFile(file) as files:
        assert [turn["question"] for turn in json.loads(files.read("chat.json"))["turns"]] == ["what?", "hello"]


def test_a_failed_question_does_not_poison_the_next(stub: Stub, chat: Chat) -> None:
    done = chat(stub[0], typed="too long\n/clear\nhello\n")
    assert done.stdout == "I see no picture (turn 1). \n"
    assert "no longer fits" in done.stderr
    assert "maximum context length" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["http://127.0.0.1:9", "hi"], 1, "Nothing answers at"),
        (["nobody", "hi"], 3, "No deployment is named nobody"),
        ([], 3, "Ask whom?"),
        (["ftp://x", "hi"], 2, "not the address"),
        (["http://127.0.0.1:9", "--json"], 2, "--json answers one question"),
        (["http://127.0.0.1:9", "hi", "--image", "none.png"], 3, "no file none.png"),
    ],
)
def test_failures_have_a_sentence_and_a_code(args: list[str], code: int, words: str, chat: Chat) -> None:
    done = chat(*args)
    assert done.returncode == code
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def _deployed(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    host, _, port = url.removeprefix("http://").rpartition(":")
    save(Deployment("shop", "/m", "shop", host, int(port), ("python",), {}, "vllm 1"))


def test_a_stopped_deployments_port_is_not_asked(
    stub: Stub, chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _deployed(stub[0], tmp_path, monkeypatch)
    done = chat("shop", "hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert "shop is stopped" in done.stderr
    assert "fitserve up shop" in done.stderr
    assert not stub[1].requests


def test_a_stranger_on_the_port_of_one_that_answers_is_not_asked(
    stub: Stub, chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _deployed(stub[0], tmp_path, monkeypatch)
    me = look_up(os.getpid())
    assert me
    write_live(Live("shop", State.ANSWERING, updated=1.0, runner=me.identity), live_paths("shop"))
    done = chat("shop", "hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Another server listens" in done.stderr
    assert not stub[1].requests


def test_chinese(stub: Stub, red: Path, chat: Chat) -> None:
    done = chat(stub[0], "--image", red, "是什么？", lang="zh")
    assert "red.png：2048x1024 -> 1024x512" in done.stderr
    assert "回答 6 token" in done.stderr
    assert "没有响应" in chat("http://127.0.0.1:9", "hi", lang="zh").stderr
