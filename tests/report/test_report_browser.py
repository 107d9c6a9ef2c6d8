"""The page in a real Chromium: opened from disk without a network, charts drawn, languages switched."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from tests.browser.page import start_browser

from fitserve.report.build import build
from fitserve.report.html import page
from fitserve.report.read import read_measured

pytestmark = pytest.mark.browser


def test_the_page_opens_and_its_charts_are_drawn(bench_file: Path, compare_file: Path, tmp_path: Path) -> None:
    files = [read_measured(path) for path in (bench_file, compare_file)]
    path = tmp_path / "report.html"
    path.write_text(page([build(files, language) for language in ("en", "zh")]), encoding="utf-8")
    with sync_playwright() as playwright:
        chromium = start_browser(playwright)
        tab = chromium.new_page()
        asked: list[str] = []
        complaints: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.goto(path.as_uri())
        charts = tab.locator("#report-en figure svg")
        assert charts.count() == 16
        for number in range(charts.count()):
            box = charts.nth(number).bounding_box()
            assert box is not None and box["width"] > 300 and box["height"] > 60
        assert tab.locator("#report-en polyline").first.bounding_box() is not None
        assert tab.get_by_text("graphs is better than eager").first.is_visible()
        tab.get_by_text("中文", exact=True).click()
        assert tab.locator("#report-zh").is_visible() and not tab.locator("#report-en").is_visible()
        assert tab.get_by_text("graphs 优于 eager").first.is_visible()
        assert (asked, complaints) == ([path.as_uri()], [])
        chromium.close()
