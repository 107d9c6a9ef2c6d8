"""A chat as files: whole, readable without fitserve, and no name of a person's file leads out of the archive."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from tests.chat.given import BLUE, RED, answer

from fitserve.chat.conversation import Conversation, OnNewPicture
from fitserve.chat.export import as_document, as_markdown, as_zip, file_stem, picture_file
from fitserve.chat.records import Chat

KEEP = OnNewPicture.KEEP


def chat(question: str = "What?", text: str = "Red.") -> Chat:
    odd = replace(RED, name="../../e]vil\n.png")
    talk = Conversation().ask(question, (odd, BLUE), KEEP).answered(answer(text), "m")
    talk = talk.ask("And <b>this</b>?", (RED,), KEEP).answered(answer(""), "m")
    return Chat("0" * 24, "", 1_790_000_000.0, 1_790_000_060.0, talk)


def test_markdown() -> None:
    assert as_markdown(chat(), "en", alone=False).splitlines()[:16] == [
        "# What?",
        "",
        "*2026-09-21T14:13:20+00:00*",
        "",
        "## 1. Question",
        "",
        f"![../../e vil .png]({picture_file(RED)})",
        f"![blue.png]({picture_file(BLUE)})",
        "```text",
        "What?",
        "```",
        "",
        "### Answer (m)",
        "",
        "Red.",
        "",
    ]
    assert "### 回答" in as_markdown(chat(), "zh")
    assert "*not answered*" in as_markdown(chat(), "en")


def test_each_file_alone_holds_its_pictures() -> None:
    text = as_markdown(chat(), "en")
    assert f"![blue.png][{BLUE.digest[:16]}]" in text
    assert text.splitlines()[-2:] == [f"[{one.digest[:16]}]: {one.data_url}" for one in (RED, BLUE)]
    assert json.dumps(as_document(chat())).count(RED.data_url) == 2


def test_a_question_can_not_end_its_fence() -> None:
    lines = as_markdown(chat("a ``` b\n````\n# c"), "en").splitlines()
    assert "`````text" in lines
    assert lines.count("`````") == 1


def test_no_viewer_loads_what_a_model_or_a_name_says() -> None:
    odd = chat(text="<script>x</script>![a](http://192.0.2.1/x.png)\n~~~\n<b>")
    named = replace(RED, name="](x) ![<script>`.png")
    talk = odd.conversation.ask("<b>?", (named,), KEEP).answered(answer("~~~ <img src=x>"), "m")
    odd = replace(odd, conversation=talk)
    drawn = MarkdownIt("commonmark").render(as_markdown(odd, "en", alone=False))
    assert "<script>" not in drawn
    assert re.findall('<img src="([^"]*)"', drawn) == [picture_file(one) for one in (RED, BLUE, RED)]
    assert "<h2>2. Question</h2>" in drawn


def test_no_control_sequence_is_written() -> None:
    assert "\x1b" not in as_markdown(chat("\x1b[31mhi", "\x1b]0;title\x07x"), "en")


def test_the_archive_holds_everything() -> None:
    with zipfile.ZipFile(io.BytesIO(as_zip(chat(), "en"))) as files:
        names = files.namelist()
        document = json.loads(files.read("chat.json"))
        assert files.read(picture_file(RED)) == b"red"
    assert names == ["chat.md", "chat.json", picture_file(RED), picture_file(BLUE)]
    assert document == as_document(chat(), alone=False)
    assert (document["schema_version"], document["kind"], document["title"]) == (1, "chat", "What?")
    turn = document["turns"][0]
    assert (turn["answer"], turn["model"], turn["usage"]["prompt_tokens"]) == ("Red.", "m", 40)
    assert turn["pictures"][0]["url"] in names


def test_a_lost_picture_is_said() -> None:
    lost = replace(RED, data=b"")
    document = as_document(Chat("0" * 24, conversation=Conversation().ask("?", (lost,), KEEP).answered(answer("!"))))
    assert '"url": null' in json.dumps(document)


@pytest.mark.parametrize(
    ("title", "stem"),
    [("../../etc/passwd", "etc-passwd"), ("苹果 🍎?", "苹果"), ("", "chat"), ('a"; rm -rf', "a-rm--rf")],
)
def test_file_names_are_plain(title: str, stem: str) -> None:
    assert file_stem(Chat("0" * 24, title)) == f"{stem}-1970-01-01"
