"""The owner's tab and the engine's state in a real Chromium: what is shown, and what the key opens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.browser import deployments
from tests.browser.page import ChatPage, served_page
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, page_env: dict[str, str]) -> Iterator[dict[str, str]]:
    with deployments.owners_home(tmp_path_factory.mktemp("owner"), page_env) as env:
        yield env


@pytest.fixture(scope="module")
def shop(home: dict[str, str], endpoint: tuple[str, Seen]) -> Iterator[str]:
    """The page of a deployment that answers; another one has failed."""
    deployments.put(home, deployments.frozen("shop", endpoint[0]), deployments.answering("shop"))
    log = deployments.LOG + f"(EngineCore pid=2) {deployments.TOO_LONG}\n"
    deployments.put(home, deployments.frozen("broken", "http://127.0.0.1:9"), deployments.failed("broken"), log)
    with served_page("shop", env=home) as url:
        yield url


@pytest.fixture
def tab(browser: Browser, shop: str) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB", viewport={"width": 1100, "height": 800})
    page = ChatPage(context.new_page(), shop)
    page.page.goto(f"{shop}/en/#/owner")
    page.page.get_by_role("button", name="shop").wait_for()
    yield page.page
    assert page.failures == []
    context.close()


def key_of(home: dict[str, str]) -> str:
    return (Path(home["XDG_STATE_HOME"]) / "fitserve" / "owner.key").read_text().strip()


def unlock(page: Page, key: str) -> None:
    page.get_by_label("Owner's key").fill(key)
    page.keyboard.press("Enter")


def test_everything_is_there_to_be_read(tab: Page) -> None:
    expect(tab.locator("article h2")).to_contain_text("shop")
    ledger = tab.get_by_role("table", name="Memory of one rank")
    expect(ledger.get_by_role("row", name="weights")).to_contain_text("11.00 GiB")
    expect(ledger.get_by_role("row", name="KV cache")).to_contain_text("7.00 GiB")
    expect(tab.get_by_role("table", name="Planned and measured")).to_contain_text("812,000")
    expect(tab.locator(".facts")).to_contain_text("How many shapes are there? → Three. (0.4 s)")
    expect(tab.locator(".strip")).to_contain_text("compiled, CUDA graphs")
    for button in ("Restart", "Verify", "Apply…"):
        assert tab.get_by_role("button", name=button).count() == 0


def test_the_log_is_text_is_filtered_and_followed(tab: Page, home: dict[str, str]) -> None:
    log = tab.locator("pre.log")
    expect(log).to_contain_text("<b onclick=alert(1)>not markup</b> red")
    assert log.locator("b").count() == 0
    tab.get_by_label("only warnings and errors").check()
    expect(log.locator("span")).to_have_count(1)
    with (Path(home["XDG_STATE_HOME"]) / "fitserve" / "deployments" / "shop" / "logs" / "engine.log").open("a") as file:
        file.write("ERROR 11-30 12:01:00 [core.py:1] it broke\nINFO 11-30 12:01:01 [core.py:1] fine\n")
    expect(log.locator("span")).to_have_count(2)
    tab.get_by_label("with", exact=True).fill("broke")
    expect(log.locator("span")).to_have_count(1)
    expect(log.locator(".error")).to_contain_text("it broke")


def test_a_key_that_is_given_while_a_look_is_under_way_stays(tab: Page, home: dict[str, str]) -> None:
    held: list[Route] = []
    tab.route("**/api/owner", lambda route: route.continue_() if held else held.append(route))
    while not held:
        tab.wait_for_timeout(100)
    unlock(tab, key_of(home))
    tab.get_by_role("button", name="Lock", exact=True).wait_for()
    with tab.expect_response("**/api/owner"):
        held[0].continue_()  # it was asked without the key, and says that this tab may not act
    tab.wait_for_timeout(200)
    assert tab.evaluate("() => sessionStorage.getItem('fitserve-owner-key')") == key_of(home)
    tab.unroute("**/api/owner")


def test_a_wrong_key_opens_nothing_the_right_one_does(tab: Page, home: dict[str, str]) -> None:
    unlock(tab, "a guess")
    expect(tab.get_by_role("alert")).to_contain_text("That is not the owner's key.")
    unlock(tab, key_of(home))
    tab.get_by_role("button", name="Restart").wait_for()
    assert tab.evaluate("document.cookie") == ""  # it travels in a header of ours, to this server alone
    tab.get_by_role("button", name="Restart").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("Start shop again?")
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="detached")
    tab.get_by_role("button", name="Lock", exact=True).click()
    tab.get_by_role("button", name="Restart").wait_for(state="detached")


def test_the_fix_is_a_button_for_the_owner_and_says_why_it_can_not_be_done(tab: Page, home: dict[str, str]) -> None:
    tab.get_by_role("button", name="broken").click()
    finding = tab.locator(".finding")
    expect(finding).to_contain_text("--max-model-len 174080")
    expect(finding.locator("pre").first).to_contain_text("5: ValueError: To serve at least one request")
    unlock(tab, key_of(home))
    finding.get_by_role("button", name="Apply…").first.click()
    expect(finding.get_by_role("alert")).not_to_be_empty()  # there is no model at /m on this machine
    assert "Traceback" not in finding.inner_text()


def test_a_start_is_watched(browser: Browser, home: dict[str, str], shop: str) -> None:
    deployments.put(home, deployments.frozen("slow", "http://127.0.0.1:9"), deployments.starting("slow"))
    with served_page("slow", env=home) as url:
        page = ChatPage(browser.new_page(locale="zh-CN"), url).open().page
        engine = page.locator(".engine")
        expect(engine).to_contain_text("引擎正在启动：测算单个请求的开销")
        expect(engine.locator("li").nth(1)).to_contain_text("加载权重 56.8 秒")
        expect(page.locator(".strip .state")).to_have_text("启动中")
        live = json.dumps(deployments.asdict(deployments.failed("slow")) | {"serial": 2})
        folder = Path(home["XDG_STATE_HOME"]) / "fitserve" / "deployments" / "slow"
        with (folder / "logs" / "engine.log").open("a") as log:
            log.write(f"(EngineCore pid=2) {deployments.TOO_LONG}\n")
        (folder / "live.json").write_text(live)
        expect(engine).to_contain_text("引擎：失败")
        expect(engine.locator(".finding")).to_contain_text("--max-model-len 174080")
        assert engine.get_by_role("button").count() == 0  # read-only without the key
        page.locator("#question").fill("有人吗？")
        page.locator("#question").press("Enter")
        expect(page.locator(".composer .problem")).to_contain_text("引擎不在运行（失败）")
        expect(page.locator(".composer .problem")).to_contain_text("fitserve doctor slow")
        assert page.locator("#question").input_value() == "有人吗？"
        assert page.locator(".turn").count() == 0
        page.close()
