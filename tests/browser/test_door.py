"""A page with a key, on a port that was taken, that opens in a fixed language."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from playwright.sync_api import Browser
from tests.browser.page import ChatPage, served_page
from tests.browser.stub import Seen, stub_endpoint

PAGE_OF_A_DEPLOYMENT = """
import sys
from fitserve.run.deployment import Deployment
from fitserve.run.registry import save
port, page_port = map(int, sys.argv[1:])
save(Deployment("shown", "/nowhere", "stub-name", "127.0.0.1", port, (), {}, "stub", page_port=page_port))
"""

pytestmark = pytest.mark.browser


def test_a_key_and_a_taken_port(browser: Browser, endpoint: tuple[str, Seen], page_env: dict[str, str]) -> None:
    env = {**page_env, "FITSERVE_PAGE_KEY": "芝麻 open"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        argv = [sys.executable, "-m", "fitserve", "page", endpoint[0], "--port", str(taken), "--lang", "zh"]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip().removeprefix("聊天页：")
            page = ChatPage(browser.new_context(locale="en-GB").new_page(), url)
            page.page.goto(url)
            page.page.get_by_label("Key of this page").fill("wrong")
            page.page.keyboard.press("Enter")
            page.page.get_by_text("That is not the key.").wait_for()
            page.page.get_by_label("Key of this page").fill("芝麻 open")
            page.page.keyboard.press("Enter")
            page.page.wait_for_url("**/zh/")
            assert page.ask("hello") == "I see no picture (turn 1)."
            page.page.context.close()
        finally:
            process.terminate()
            _, told = process.communicate(timeout=20)
    assert f"端口 {taken} 已被占用，聊天页改在 {url}。" in told
    assert process.returncode in (0, 130)
    assert "Traceback" not in told


def test_a_page_that_is_there_before_its_model(browser: Browser, page_env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with served_page("--backend-url", f"http://127.0.0.1:{port}", env=page_env) as url:
        page = ChatPage(browser.new_context(locale="zh-CN").new_page(), url).open()
        page.page.locator(".top h1", has_text="还没有模型应答").wait_for()
        with stub_endpoint(model="late", port=port):
            page.page.locator(".top h1", has_text="late").wait_for()
            assert page.ask("hello") == "I see no picture (turn 1)."
        page.page.context.close()


def test_the_page_that_the_process_manager_starts(
    browser: Browser, endpoint: tuple[str, Seen], page_env: dict[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    save = [sys.executable, "-c", PAGE_OF_A_DEPLOYMENT, endpoint[0].rsplit(":", 1)[1], str(port)]
    subprocess.run(save, env=page_env, check=True, timeout=60)
    argv = [sys.executable, "-m", "fitserve", "_page", "shown"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=page_env, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url == f"http://127.0.0.1:{port}"
        page = ChatPage(browser.new_context(locale="en-GB").new_page(), url).open()
        page.page.locator(".top h1", has_text="stub-name").wait_for()
        assert page.ask("hello") == "I see no picture (turn 1)."
        page.page.context.close()
    finally:
        process.terminate()
        _, told = process.communicate(timeout=20)
    assert told == ""
