"""The command line as a whole: verbs, languages, unknown words, and a --help that loads nothing heavy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import fitserve
from fitserve.cli.app import VERBS, app, speaking
from fitserve.cli.click_texts import speak_as_asked
from fitserve.cli.failure import told
from fitserve.errors import SettingsError
from fitserve.text import choose_language

HEAVY = {
    "pydantic",
    "starlette",
    "uvicorn",
    "websockets",
    "httpx2",
    "rich",
    "PIL",
    "msgspec",
    "psutil",
    "prometheus_client",
    "supervisor",
    "pynvml",
}


@pytest.fixture(autouse=True)
def english():
    choose_language("en")
    yield
    choose_language("auto")


def test_help_names_every_verb_in_both_languages(capsys) -> None:
    for language in ("en", "zh"):
        assert told(app, ["--lang", language, "--help"]) == 0
        printed = capsys.readouterr().out
        assert all(f"\n  {verb} " in printed for verb in VERBS)
    assert "命令" in printed


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from fitserve.cli.failure import told; from fitserve.cli.app import app;"
        "told(app, ['--help']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert not loaded & HEAVY


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_takes_the_language(verb: str, capsys) -> None:
    assert told(app, [verb, "--lang", "zh", "--help"]) == 0
    assert "--lang" in capsys.readouterr().out


def test_an_unknown_verb_is_a_usage_error_in_json_too(capsys) -> None:
    assert told(app, ["plam", "x", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["code"] == "settings"
    assert "plam" in document["error"]["message"]


def test_a_bug_is_told_without_a_traceback(capsys) -> None:
    @click.command()
    def broken() -> None:
        raise RuntimeError("nobody thought of this")

    assert told(speaking(broken), []) == 1
    printed = capsys.readouterr().err
    assert "nobody thought of this" in printed
    assert "Traceback" not in printed


def test_an_ascii_locale_gets_question_marks_and_an_answer() -> None:
    """click writes UTF-8 all the same; rich and print would raise."""
    code = "from fitserve.cli.app import _speak_anyway; _speak_anyway(); print('«红» 1')"
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "??? 1\n"


def test_an_answer_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    env = os.environ | {"XDG_STATE_HOME": str(tmp_path)}
    for words in (["status", "--json"], ["plam", "--json"]):
        with Path("/dev/full").open("w") as full:
            argv = [sys.executable, "-m", "fitserve", "--lang", "en", *words]
            done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, env=env, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("Error: The answer could not be written.")
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


def test_a_reader_that_went_away_is_no_failure_to_tell(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-m", "fitserve", "status"]
    env = os.environ | {"XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(argv, stdout=write, stderr=subprocess.PIPE, text=True, env=env, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_json_behind_two_dashes_is_the_engines(capsys) -> None:
    assert told(app, ["plam", "--", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "plam" in printed.err


@pytest.mark.parametrize(("words", "usage"), [([], "Usage: fitserve"), (["--lang", "zh"], "用法：fitserve")])
def test_the_bare_command_shows_its_help_and_no_failure(
    words: list[str], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    speak_as_asked(words)
    assert told(app, words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(usage)
    assert "Error" not in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("language", "lines"),
    [("en", ("Error: bad", "  Evidence: it", "  Next: that")), ("zh", ("错误：bad", "  依据：it", "  下一步：that"))],
)
def test_a_label_stands_as_its_language_writes_it(language: str, lines: tuple[str, ...], capsys) -> None:
    """A full-width colon carries its own blank."""

    @click.command()
    def failing() -> None:
        raise SettingsError("bad", evidence="it", hint="that")

    choose_language(language)
    assert told(failing, []) == 2
    assert tuple(capsys.readouterr().err.splitlines()) == lines


def test_no_caller_adds_a_blank_to_a_label() -> None:
    """The labels that carry their separator in the catalogue: `tr` is followed by the value."""
    label = re.compile(r"tr\(['\"](?:failure\.(?:error|evidence|next)|run\.(?:diagnosis|would_help))['\"]\)\} ")
    assert [path.name for path in Path(fitserve.__file__).parent.rglob("*.py") if label.search(path.read_text())] == []
