"""The page in a real Chromium, before an endpoint that answers from the pictures it really got."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from tests.browser.conftest import Open
from tests.browser.page import until
from tests.browser.stub import COLOURS, Seen

pytestmark = pytest.mark.browser
Picture = Callable[..., Path]


def test_a_picture_is_uploaded_and_answered(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page()
    assert page.ask("What colour?", picture("red")) == "I see red 320x240 (turn 1)."
    assert "first token" in page.notices
    assert "->" not in page.notices
    assert len(seen.requests) == 1
    assert page.page.locator("#chat img").count() == 1


def test_a_second_question_keeps_the_picture(open_page: Open, picture: Picture) -> None:
    page = open_page()
    page.ask("What colour?", picture("red"))
    assert page.ask("Are you sure?") == "I see red 320x240 (turn 2)."


def test_a_second_picture_is_not_answered_from_the_first(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page()
    page.ask("What colour?", picture("red"))
    assert page.ask("And now?", picture("blue", size=(64, 64))) == "I see blue 64x64 (turn 1)."
    assert "new conversation" in page.notices
    assert page.page.locator("#chat img").count() == 1
    assert len(seen.last) == 1


def test_the_earlier_conversation_can_be_brought_back(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page()
    page.ask("What colour?", picture("red"))
    page.ask("And now?", picture("blue"))
    page.bring_back()
    page.page.get_by_text("I see red 320x240, blue 320x240 (turn 2).").wait_for()
    assert page.page.locator("#chat img").count() == 2
    assert not page.page.locator("#back").is_visible()
    assert page.ask("Compare.") == "I see red 320x240, blue 320x240 (turn 3)."
    assert len(seen.requests) == 4


def test_keeping_compares_both_pictures(open_page: Open, picture: Picture) -> None:
    page = open_page()
    page.keep_earlier()
    page.ask("What colour?", picture("red"))
    assert page.ask("And now?", picture("blue")) == "I see red 320x240, blue 320x240 (turn 2)."
    assert "new conversation" not in page.notices


def test_several_pictures_in_one_question(open_page: Open, picture: Picture) -> None:
    page = open_page()
    files = [picture("green"), picture("yellow")]
    assert page.ask("Compare.", *files) == "I see green 320x240, yellow 320x240 (turn 1)."


@pytest.mark.parametrize("way", ["paste", "drop"])
def test_pasted_and_dragged_pictures(way: str, open_page: Open, picture: Picture) -> None:
    page = open_page()
    getattr(page, way)(picture("green"))
    assert page.ask("What colour?") == "I see green 320x240 (turn 1)."


def test_a_picture_alone_is_a_question(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page()
    assert page.ask("", picture("green")) == "I see green 320x240 (turn 1)."
    assert seen.last[0]["content"][-1]["text"] == "What is in this picture?"


def test_a_turned_photo_is_shrunk_with_a_notice(open_page: Open, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "IMG_0001.jpg"
    Image.new("RGB", (3024, 4032), COLOURS["green"]).save(path, exif=exif)
    page = open_page()
    assert page.ask("What colour?", path) == "I see green 1024x768 (turn 1)."
    assert "IMG_0001.jpg: 4032x3024 -> 1024x768" in page.notices


def test_what_is_no_picture_is_refused_and_the_question_stays(open_page: Open, tmp_path: Path, seen: Seen) -> None:
    path = tmp_path / "paper.png"
    path.write_bytes(b"%PDF-1.7 not a picture")
    page = open_page()
    page.attach(path)
    page.send("What is it?")
    page.page.get_by_text("paper.png is a PDF").wait_for()
    assert page.page.locator("#box textarea").input_value() == "What is it?"
    assert seen.requests == []


def test_clear_forgets_everything(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page()
    page.ask("What colour?", picture("red"))
    page.clear()
    page.page.get_by_text("Cleared.").wait_for()
    assert page.answers.count() == 0
    assert page.ask("What do you see?") == "I see no picture (turn 1)."
    assert len(seen.last) == 1


def test_clear_in_the_middle_of_an_answer(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.page.get_by_text("word5").wait_for()
    page.clear()
    until(lambda: seen.given_up == 1, "the endpoint noticed")
    page.page.get_by_text("Cleared.").wait_for()
    page.page.wait_for_timeout(500)
    assert page.answers.count() == 0
    assert page.ask("hello") == "I see no picture (turn 1)."


def test_stop_ends_the_answer_at_the_endpoint(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.page.get_by_text("word5").wait_for()
    page.stop()
    until(lambda: seen.given_up == 1, "the endpoint noticed")
    assert seen.pieces_sent < 150
    page.page.get_by_text("Stopped.").wait_for()
    assert page.answer().startswith("word0")
    assert page.ask("hello") == "I see no picture (turn 2)."
    assert seen.last[1]["content"].startswith("word0")


def test_stop_before_the_first_token(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("hold")
    until(lambda: seen.active == 1, "the question arrived")
    page.stop()
    until(lambda: seen.given_up == 1, "the endpoint noticed")
    page.page.get_by_text("Stopped.").wait_for()
    assert page.ask("hello") == "I see no picture (turn 1)."


@pytest.mark.parametrize("text", ["slow please", "hold"])
def test_a_closed_tab_frees_the_endpoint(text: str, open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send(text)
    until(lambda: seen.active == 1, "the question arrived")
    page.page.close()
    until(lambda: seen.given_up == 1, "the endpoint noticed", wait_s=5)


def test_an_error_is_told_and_does_not_poison_the_next_question(open_page: Open, seen: Seen) -> None:
    page = open_page()
    told = page.ask("too long")
    assert "no longer fits into the model's window" in told
    assert "maximum context length is 4096" in told
    assert "Next:" in told
    assert page.page.locator("#box textarea").input_value() == "too long"
    assert page.ask("hello") == "I see no picture (turn 1)."
    assert "no longer fits" not in str(seen.last)


def test_an_answer_that_breaks_off(open_page: Open) -> None:
    assert "broke off in the middle" in open_page().ask("break")


def test_thinking_is_apart_from_the_answer(open_page: Open, seen: Seen) -> None:
    page = open_page()
    assert page.ask("think") == "I see no picture (turn 1)."
    assert page.page.get_by_text("Thinking", exact=True).count() == 1
    page.ask("hello")
    assert "I look at" not in str(seen.last)


def test_markup_of_the_model_stays_text(open_page: Open) -> None:
    page = open_page()
    assert "done" in page.ask("script")
    assert page.page.title() == "fitserve"
    assert page.outside == []


def test_two_tabs_do_not_mix(open_page: Open, picture: Picture) -> None:
    one, two = open_page(), open_page()
    one.ask("What colour?", picture("red"))
    assert two.ask("What colour?") == "I see no picture (turn 1)."
    assert one.ask("Sure?") == "I see red 320x240 (turn 2)."


def test_answers_do_not_wait_for_each_other(open_page: Open, seen: Seen) -> None:
    pages = [open_page() for _ in range(3)]
    for page in pages[:2]:
        page.send("hold")
    until(lambda: seen.active == 2, "both questions arrived")
    assert pages[2].ask("hello") == "I see no picture (turn 1)."


def test_the_demo_model_is_called_a_toy(open_page: Open) -> None:
    page = open_page()
    assert "demo" in page.page.locator("#top h1").inner_text()
    assert "not for work" in page.page.locator("#top").inner_text()


def test_chinese(open_page: Open, picture: Picture, seen: Seen) -> None:
    page = open_page(locale="zh-CN")
    assert page.page.url.endswith("/zh/")
    assert page.page.locator("#box textarea").get_attribute("placeholder").startswith("输入问题")
    page.page.locator("#box button[aria-label='发送']").wait_for()
    page.page.locator("#box button[aria-label='上传图片']").wait_for()
    assert page.page.locator("html").get_attribute("lang") == "zh"
    page.ask("什么颜色？", picture("red", size=(2048, 1024)))
    assert "red.png：2048x1024 -> 1024x512" in page.notices
    page.ask("", picture("blue"))
    assert "已开始新对话" in page.notices
    assert seen.last[0]["content"][-1]["text"] == "这张图里有什么？"
    assert "不能用于实际工作" in page.page.locator("#top").inner_text()
    page.page.locator("#top a.language").click()
    page.page.wait_for_url("**/en/")


def test_shift_enter_is_a_new_line_and_composing_does_not_send(open_page: Open, seen: Seen) -> None:
    page = open_page()
    box = page.page.locator("#box textarea")
    box.fill("one")
    box.press("Shift+Enter")
    client = page.page.context.new_cdp_session(page.page)
    client.send("Input.imeSetComposition", {"text": "ni", "selectionStart": 2, "selectionEnd": 2})
    enter = {"key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}
    client.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    client.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    page.page.wait_for_timeout(300)
    assert seen.requests == []
    client.send("Input.insertText", {"text": "你"})
    page.page.wait_for_timeout(100)
    assert box.input_value() == "one\n你"
    box.press("Enter")
    page.answer()
    assert seen.last[0]["content"] == "one\n你"


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_or_taller_than_the_window(width: int, open_page: Open, picture: Picture) -> None:
    page = open_page(width=width, height=844)
    page.ask("What colour?", picture("red", size=(2000, 500)))
    wide, high = page.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= width
    assert high <= 844
    assert page.page.locator("#clear").is_visible()
