"""The document and the files behind it, as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fitserve.text.catalog import sentences
from fitserve.web.page import STATIC, page_html

OURS = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css") and "vendor" not in path.parts]
KEY = re.compile(r"""t\(["'`]((?:page|owner)\.[a-z_0-9]+)["'`]""")
FAMILIES = {  # keys that are put together
    "page.theme_": ("light", "dark"),
    "page.key_": ("send", "line", "stop", "edit_last", "new", "clear", "history", "help"),
    "page.part_": ("system", "turn", "picture", "draft", "reserve"),
    "page.policy_": ("ask", "start_over", "keep"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_sentence_that_the_page_asks_for_is_there(language: str) -> None:
    asked = {key for path in OURS for key in KEY.findall(path.read_text(encoding="utf-8"))}
    asked |= {family + name for family, names in FAMILIES.items() for name in names}
    known = {f"{area}.{name}" for area in ("page", "owner") for name in sentences(language, area)}
    assert len(asked) > 80
    assert asked <= known


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_nothing_of_ours_points_outside(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"""["'(]\s*(?:https?:)?//[a-z0-9]""", text)
    assert len(text.splitlines()) <= 400


def test_no_script_stands_in_the_document() -> None:
    for language in ("en", "zh"):
        document = page_html(language, is_demo=True)
        scripts = re.findall(r"<script[^>]*>", document)
        assert all("src=" in script or "application/json" in script for script in scripts)
        assert " on" not in re.sub(r"<script type=\"application/json\".*?</script>", "", document)
        assert "style=" not in document


def test_what_is_carried_along_is_named_with_its_licence() -> None:
    notice = (STATIC / "vendor" / "NOTICE").read_text(encoding="utf-8")
    for name in ("preact", "htm", "markdown-it", "dompurify", "katex", "highlight"):
        assert name in notice
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) < 2 * 2**20
