"""No question is lost, and no chat says «answering» for ever, whatever comes late or is done elsewhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, WebSocketRoute
from tests.browser.conftest import DESK, MakePicture, Open
from tests.browser.page import ChatPage, until
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser


class Held:
    """Requests of a tab that wait on their way until they are let go."""

    def __init__(self, page: ChatPage, path: str, method: str) -> None:
        self._page, self._path, self._method = page.page, path, method
        self._routes: list[Route] = []
        self._page.route(path, self._hold)

    def _hold(self, route: Route) -> None:
        self._routes.append(route) if route.request.method == self._method else route.continue_()

    def come(self) -> None:
        """Wait until one is there."""
        until(lambda: bool(self._page.evaluate("1")) and bool(self._routes), f"{self._method} {self._path}")

    def go(self) -> None:
        """To the server, and its answer to the page."""
        self.come()
        with self._page.expect_response(self._path):
            self._routes.pop().continue_()
        self.no_more()

    def arrive(self) -> None:
        """To the server alone."""
        self.come()
        self._routes.pop().fetch()

    def fail(self) -> None:
        """Nowhere."""
        self.come()
        self._routes.pop().abort()

    def no_more(self) -> None:
        """Later ones go at once."""
        self._page.unroute(self._path)


def stop_from_elsewhere(page: ChatPage, chat: str) -> None:
    page.page.evaluate("id => fetch(`/api/chats/${id}/stop`, {method: 'POST'})", chat)


def chat_of(page: ChatPage) -> str:
    page.page.wait_for_url("**/#/chat/*")
    return page.page.url.rpartition("/")[2]


def test_a_late_answer_of_a_command_brings_no_left_chat_back(open_page: Open) -> None:
    page = open_page()
    page.ask("hello")
    left = chat_of(page)
    late = Held(page, "**/since", "POST")
    page.clear()
    late.come()
    page.page.keyboard.press("Alt+n")
    late.go()
    assert page.asked == 0
    assert page.ask("hello again") == "I see no picture (turn 1)."
    assert chat_of(page) != left


def test_an_answer_that_ends_while_the_owners_tab_is_open(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.shows("word2")
    chat = chat_of(page)
    page.page.get_by_role("link", name="Owner").click()
    page.page.locator(".owner").wait_for()
    stop_from_elsewhere(page, chat)
    until(lambda: seen.given_up == 1, "it was stopped")
    page.page.get_by_role("link", name="Chat", exact=True).click()
    page.page.locator("[data-answering=false]").wait_for()
    assert page.ask("hello") == "I see no picture (turn 2)."


def test_a_question_belongs_to_the_chat_that_is_still_being_opened(open_page: Open) -> None:
    page = open_page()
    page.ask("hello")
    chat = chat_of(page)
    opening, quiet = Held(page, f"**/api/chats/{chat}", "GET"), [True]

    def news(socket: WebSocketRoute) -> None:  # brings the chat too
        server = socket.connect_to_server()
        server.on_message(lambda told: None if quiet and '"event":"chat"' in str(told) else socket.send(told))

    page.page.route_web_socket("**/api/events*", news)
    page.reload()
    page.send("and now?")
    opening.come()
    quiet.clear()
    opening.go()
    page.shows("(turn 2)")
    assert chat_of(page) == chat


@pytest.mark.parametrize("path", ["**/api/chats", "**/messages"])
def test_a_reload_while_a_question_leaves(path: str, open_page: Open, seen: Seen, picture: MakePicture) -> None:
    page = open_page()
    page.attach(picture("red"))
    leaving = Held(page, path, "POST")
    page.send("What colour?")
    leaving.come()
    page.reload()
    leaving.no_more()
    page.page.wait_for_function("() => document.querySelector('#question').value === 'What colour?'")
    assert page.thumbnails.count() == 1
    page.box.press("Enter")
    page.shows("I see red 320x240 (turn 1).")
    assert len(seen.requests) == 1


def test_a_reload_before_the_server_has_said_that_it_has_the_question(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.ask("hello")
    leaving = Held(page, "**/messages", "POST")
    page.send("differ")
    leaving.arrive()
    page.reload()
    page.shows("Answer number 2.")
    assert (page.box.input_value(), len(seen.requests)) == ("", 2)


def test_a_question_that_did_not_arrive_comes_back_before_what_was_written_since(open_page: Open) -> None:
    page = open_page()
    page.ask("hello")
    leaving = Held(page, "**/messages", "POST")
    page.send("one")
    leaving.come()
    page.box.fill("two")
    leaving.fail()
    page.page.get_by_text("The page's server does not answer.").wait_for()
    assert page.box.input_value() == "one\ntwo"


def test_what_is_done_first_is_done_first(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.ask("hello")
    clearing = Held(page, "**/since", "POST")
    page.clear()
    clearing.come()
    page.send("differ")
    clearing.go()
    page.shows("Answer number 2.")
    assert [message["content"] for message in seen.last] == ["differ"]


def test_a_chat_that_another_tab_deletes_while_it_answers(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.shows("word2")
    second = open_page(DESK, f"/en/#/chat/{chat_of(page)}")
    second.shows("word2")
    second.page.evaluate("id => fetch(`/api/chats/${id}`, {method: 'DELETE'})", chat_of(page))
    page.page.get_by_text("This chat is no longer there").wait_for()
    assert page.ask("hello") == "I see no picture (turn 1)."
