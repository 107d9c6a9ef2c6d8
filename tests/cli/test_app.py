"""The command line as a whole: verbs, languages, unknown words, and a --help that loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from fitserve.cli.app import VERBS, app, speaking
from fitserve.cli.failure import told
from fitserve.text import choose_language

HEAVY = {
    "pydantic",
    "gradio",
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
