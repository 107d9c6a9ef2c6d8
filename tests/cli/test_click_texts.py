"""In Chinese, click's own sentences and the verbs' help are Chinese too, wherever `--lang` stands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from fitserve.cli.app import app
from fitserve.cli.click_texts import Formatter, speak_as_asked
from fitserve.cli.failure import told
from fitserve.text import choose_language


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    yield
    choose_language("auto")


def say(*argv: str) -> int:
    speak_as_asked(argv)
    return told(app, argv)


def test_a_help_page_is_in_the_language_named_last_on_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("inspect", "--help", "--lang", "zh") == 0
    printed = capsys.readouterr().out
    for said in ("用法：", "选项：", "输出一个 JSON 文档", "显示这段帮助。", "已知模型名"):
        assert said in printed
    assert say("inspect", "--help", "--lang=en") == 0
    printed = capsys.readouterr().out
    assert "Usage:" in printed
    assert "one JSON document" in printed


def test_what_click_adds_in_brackets_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("explain", "--help", "--lang", "zh") == 0
    assert "默认：2xRTX3090" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("config", "show", "a", "b"), "多出一个参数"),
        (("plan", "x", "--goal", "nope"), "取值无效"),
        (("status", "--bogus"), "没有选项"),
        (("plam",), "没有命令"),
        (("logs", "x", "-n", "many"), "不是有效的"),
    ],
)
def test_usage_errors_are_chinese(argv: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(*argv, "--lang", "zh") == 2
    assert said in capsys.readouterr().err


def test_a_verb_of_a_group_is_found_though_click_cut_it_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("config", "--help", "--lang", "zh") == 0
    assert "生效的设置" in capsys.readouterr().out


def test_a_sentence_without_translation_is_shown_as_it_is() -> None:
    choose_language("zh")
    page = Formatter()
    page.write_dl([("--new", "nobody translated this  [required]")])
    assert "nobody translated this  [required]" in page.getvalue()


def test_every_option_of_every_verb_is_chinese() -> None:
    """In a process of its own: a verb takes its language when it is loaded."""
    script = """
import click
from fitserve.cli.app import app
from fitserve.cli.click_texts import speak_as_asked, told
speak_as_asked(["--lang", "zh"])
def walk(verb, path):
    for param in verb.params:
        help = told(getattr(param, "help", None) or "")
        if help and not help.startswith("'") and not any(sign == "、" or "\u4e00" <= sign for sign in help):
            print(path, param.name, help)
    for name in getattr(verb, "list_commands", lambda _: [])(click.Context(verb)):
        walk(verb.get_command(click.Context(verb), name), path + " " + name)
walk(app, "fitserve")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
