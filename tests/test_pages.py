"""Every page stands in both languages: same headings, same tables, each names the other, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALONE = {
    "CHANGELOG.md": "a list of changes for those who work on the code",
}
PAGES = sorted(
    path
    for folder in (ROOT, ROOT / "docs")
    for path in folder.glob("*.md")
    if not path.name.endswith(".zh.md") and path.name not in ALONE
)
_CELL = re.compile(r"(?<!\\)\|(?=.)")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def twin(page: Path) -> Path:
    return page.with_suffix(".zh.md")


def prose(page: Path) -> list[str]:
    """The lines outside of fenced blocks."""
    out, fenced = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            out.append(line)
    return out


def frame(page: Path) -> list[str]:
    """Headings by their depth and table rows by their cells, in order."""
    lines = [line for line in prose(page) if line.startswith(("#", "|"))]
    return [f"row of {len(_CELL.findall(line))}" if line[0] == "|" else line.split(" ")[0] for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_twin_with_the_same_frame(page: Path) -> None:
    assert frame(twin(page)) == frame(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_names_the_other_below_its_title(page: Path) -> None:
    assert prose(page)[2] == f"[中文]({twin(page).name})"
    assert prose(twin(page))[2] == f"[English]({page.name})"


@pytest.mark.parametrize("page", [*PAGES, *map(twin, PAGES)], ids=lambda page: page.name)
def test_links_lead_to_a_page_in_the_same_language(page: Path) -> None:
    for target in _LINK.findall("\n".join(prose(page)[3:])):
        there = page.parent / target
        assert there.exists(), target
        if page.name.endswith(".zh.md"):
            assert target.endswith(".zh.md") or not twin(there).exists(), target
        else:
            assert not target.endswith(".zh.md"), target
