"""Expectation 11: everything by the keyboard, and an input method is left alone while it composes."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Look, Open, both_looks
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser

ENTER = {"key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}  # as Chromium sees it during composition


@both_looks
def test_enter_sends_shift_enter_does_not_and_composing_does_not(look: Look, open_page: Open, seen: Seen) -> None:
    page = open_page(look)
    page.box.fill("one")
    page.box.press("Shift+Enter")
    keyboard = page.page.context.new_cdp_session(page.page)
    keyboard.send("Input.imeSetComposition", {"text": "ni", "selectionStart": 2, "selectionEnd": 2})
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **ENTER})
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **ENTER})
    keyboard.send("Input.imeSetComposition", {"text": "你", "selectionStart": 1, "selectionEnd": 1})
    keyboard.send("Input.insertText", {"text": "你"})
    page.page.wait_for_function("() => document.getElementById('question').value === 'one\\n你'")
    assert (seen.requests, page.asked) == ([], 0)
    page.box.press("Enter")
    assert page.answer() == "I see no picture (turn 1)."
    assert seen.last[0]["content"] == "one\n你"


def test_an_empty_box_sends_nothing(open_page: Open, seen: Seen) -> None:
    page = open_page()
    for text in ("", "  \n"):
        page.box.fill(text)
        page.box.press("Enter")
    assert page.ask("now") == "I see no picture (turn 1)."
    assert len(seen.requests) == 1


def test_a_day_without_a_mouse(open_page: Open, seen: Seen) -> None:
    page = open_page()
    keys, box = page.page.keyboard, page.box
    assert box.evaluate("box => box === document.activeElement")
    keys.type("first, slow")
    keys.press("Enter")
    page.answers.filter(has_text="word3").wait_for()
    keys.press("Escape")  # stops the answer
    page.page.locator(".notice", has_text="Stopped.").wait_for()
    keys.press("ArrowUp")  # edits the last question
    keys.press("End")
    keys.press("Control+A")
    keys.type("second")
    keys.press("Enter")
    page.answers.filter(has_text="I see no picture (turn 1).").wait_for()
    keys.press("Alt+KeyC")  # clear is one key
    page.page.get_by_text("What stands above is no longer sent.").wait_for()
    keys.type("third")
    keys.press("Enter")
    page.answers.filter(has_text="(turn 1).").nth(1).wait_for()
    assert [message["content"] for message in seen.last if message["role"] == "user"] == ["third"]
    keys.press("Alt+KeyN")  # a new chat
    page.page.wait_for_function("() => document.querySelector('.messages').dataset.turns === '0'")
    assert box.evaluate("box => box === document.activeElement")
    keys.press("Alt+Slash")
    page.page.get_by_role("dialog").get_by_text("Alt").first.wait_for()
    keys.press("Escape")
    page.page.get_by_role("dialog").wait_for(state="hidden")


FOCUS = """() => {
    const it = document.activeElement, style = getComputedStyle(it);
    const name = it === document.body ? '' : it.getAttribute('aria-label') || it.innerText || it.id || it.tagName;
    return [name.trim(), style.outlineStyle !== 'none' || style.boxShadow !== 'none' || it.id === 'question'];
}"""


def test_tab_leads_everywhere_and_is_seen(open_page: Open) -> None:
    page = open_page(Look(width=1101))  # a reader of this test alone: the drawer is short
    page.ask("hello")
    page.page.evaluate("document.activeElement.blur()")
    reached: list[str] = []
    for _ in range(50):
        page.page.keyboard.press("Tab")
        name, is_seen = page.page.evaluate(FOCUS)
        if name in reached:
            break
        assert is_seen or not name, f"{name} does not show that it has the focus"
        reached += [name] if name else []
    for name in (
        "Skip to the question",
        "Owner",
        "Copy the answer",
        "Answer again",
        "Edit and ask again",
        "Add pictures",
    ):
        assert name in reached, reached
