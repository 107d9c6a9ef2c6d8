"""The fix as a button, with real processes: a start that failed is cured from the page, and the chat goes on."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.deployments import owners_home
from tests.browser.page import ChatPage, served_page
from tests.run.small_model import write_model

from stub_engine.interpreter import make_interpreter

pytestmark = pytest.mark.browser


@pytest.fixture
def broken(tmp_path: Path, page_env: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of an owner whose deployment `shop` did not start: its KV cache holds 512 tokens of 2048."""
    with owners_home(tmp_path, page_env) as env, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        env |= {"FITSERVE_ENGINE_PYTHON": str(make_interpreter(tmp_path / "engine"))}
        script = {"STUB_ENGINE": json.dumps({"kv_tokens": 512})}
        up = ["up", str(write_model(tmp_path / "Small-Model")), "--name", "shop", "--no-page", "--no-retry", "--port"]
        assert fitserve([*up, str(port)], env | script) == 1
        yield env
        assert fitserve(["down", "--all"], env) == 0


def fitserve(words: list[str], env: dict[str, str]) -> int:
    """A command's exit code."""
    argv = [sys.executable, "-m", "fitserve", *words]
    return subprocess.run(argv, env=env, capture_output=True, timeout=90, check=False).returncode


def test_from_the_diagnosis_to_an_answer(broken: dict[str, str], browser: Browser) -> None:
    with served_page("shop", env=broken) as url:
        key = (Path(broken["XDG_STATE_HOME"]) / "fitserve" / "owner.key").read_text().strip()
        page = ChatPage(browser.new_page(locale="en-GB"), url)
        page.page.goto(f"{url}/en/#/owner")
        page.page.get_by_label("Owner's key").fill(key)
        page.page.keyboard.press("Enter")
        page.page.get_by_role("button", name="Lock", exact=True).wait_for()
        page.open("/en/#/")
        page.page.locator(".fixes li", has_text="--max-model-len 512").get_by_role("button").click()
        dialog = page.page.get_by_role("dialog")
        expect(dialog).to_contain_text("--max-model-len 2048 → 512")
        dialog.get_by_role("button", name="Apply and restart").click()
        expect(page.page.locator(".strip .state")).to_have_text("answering", timeout=60_000)
        page.page.locator(".engine").wait_for(state="detached")
        assert page.ask("What colour?") == "red"
        page.page.close()
