"""Expectation 8: Markdown, tables, code and mathematics are drawn; what could do harm stays text."""

from __future__ import annotations

import pytest
from tests.browser.conftest import DESK, PHONE, Look, Open
from tests.browser.stub import Seen

pytestmark = pytest.mark.browser
DARK = Look(theme="dark")


@pytest.mark.parametrize("look", [DESK, DARK, PHONE], ids=str)
def test_an_answer_with_everything(look: Look, open_page: Open) -> None:
    page = open_page(look)
    page.ask("rich please")
    answer = page.answers.last
    assert answer.locator("h2").inner_text() == "A heading"
    assert answer.locator("strong").first.inner_text() == "bold"
    assert answer.locator("table tr").count() == 3
    assert answer.locator("ol li").count() == 2
    answer.locator("code.language-python .hljs-keyword").first.wait_for()
    answer.locator(".katex").nth(3).wait_for()
    assert answer.locator(".math.display .katex-display").count() == 2
    assert answer.locator(".katex-error").count() == 0
    assert "It costs $5, not $10." in answer.inner_text()
    fonts = page.page.evaluate("document.fonts.ready.then(() => [...document.fonts].map(font => font.status))")
    assert "error" not in fonts
    assert "loaded" in fonts  # KaTeX's own, from this server
    assert page.page.evaluate("document.documentElement.scrollWidth") <= look.width


def test_links_go_out_alone_and_scripts_nowhere(open_page: Open) -> None:
    page = open_page()
    page.ask("rich please")
    links = page.answers.last.locator("a")
    assert links.first.get_attribute("rel") == "noopener noreferrer nofollow"
    assert links.first.get_attribute("target") == "_blank"
    assert not any("javascript" in (link.get_attribute("href") or "") for link in links.all())
    assert page.answers.last.locator("img").count() == 0  # a picture from elsewhere would tell that it was read


def test_markup_of_the_model_stays_text(open_page: Open) -> None:
    page = open_page()
    shown = page.ask("script")
    assert "<script>document.title='taken'</script>" in shown
    assert page.page.title() == "fitserve"
    assert page.answers.last.locator("script, img").count() == 0


def test_nothing_runs_inline_even_if_it_came_in(open_page: Open) -> None:
    page = open_page()
    page.page.evaluate("""() => {
        setTimeout("document.title = 3", 0);
        document.body.insertAdjacentHTML('beforeend', '<img src="/nowhere" onerror="document.title=1">');
        const script = document.createElement('script');
        script.textContent = 'document.title = 2';
        document.body.append(script);
    }""")
    page.page.wait_for_timeout(300)
    assert page.page.title() == "fitserve"


def test_a_growing_answer_keeps_what_is_drawn(open_page: Open, seen: Seen) -> None:
    page = open_page()
    page.send("slow please")
    page.shows("word5")
    page.page.evaluate("document.querySelector('.answer > div').dataset.marked = 'yes'")
    page.shows("word20")
    assert page.page.locator(".answer > div[data-marked=yes]").count() == 1
    page.stop()
