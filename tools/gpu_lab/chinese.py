"""The tables of docs/measured.md in Chinese: the English ones with their words exchanged; the figures stay."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_WORDS = tomllib.loads((Path(__file__).parent / "words.zh.toml").read_text(encoding="utf-8"))


def chinese(english: str) -> str:
    """Headings, notes and column names whole, then words within rows. Raises KeyError for a paragraph without words."""
    text = "\n\n".join(map(_paragraph, english.split("\n\n")))
    for pattern, word in _WORDS["within"].items():
        text = re.sub(pattern, word, text)
    return text


def _paragraph(english: str) -> str:
    if not english.strip() or english.lstrip("\n").startswith("- "):
        return english
    head, rest = english.split("\n", 1) if english.startswith("|") else (english, "")
    return "\n".join(filter(None, (_WORDS["whole"][head], rest)))
