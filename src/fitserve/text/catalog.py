"""Keyed sentences: `tr("run.port_in_use", port=8000)` reads `port_in_use` of `en/run.toml` or `zh/run.toml`.

A file is loaded when its first sentence is asked for, so that `--help` pays only for what it prints.
"""

from __future__ import annotations

import os
import string
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
_chosen = ""
_meanwhile: ContextVar[str] = ContextVar("fitserve_language", default="")


def choose_language(language: str) -> None:
    """Fix the language for this process: `en`, `zh`, or `auto` (from the environment)."""
    global _chosen
    _chosen = "" if language == "auto" else language


@contextmanager
def in_language(language: str) -> Iterator[None]:
    """Sentences in this language meanwhile, in this thread or task alone: a page speaks to several readers at once."""
    before = _meanwhile.set(language)
    try:
        yield
    finally:
        _meanwhile.reset(before)


def current_language() -> Language:
    """The language in force. `auto` follows FITSERVE_LANG, then LC_ALL, LC_MESSAGES, LANG."""
    if chosen := _meanwhile.get() or _chosen:
        return "zh" if chosen == "zh" else "en"
    for name in ("FITSERVE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value and value != "auto":
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def tr(key: str, language: str | None = None, /, **values: object) -> str:
    """The sentence for `key` ("area.name") with its placeholders filled. Raises KeyError for an unknown key."""
    area, _, name = key.partition(".")
    sentence = _area(language or current_language(), area)[name]
    return _SENTENCE.format(sentence, **values) if values else sentence


class _Sentence(string.Formatter):
    """As str.format, and `{count} request{count:s}` has the `s` for every count but one."""

    def format_field(self, value: object, format_spec: str) -> str:
        if format_spec == "s":
            return "" if str(value) == "1" else "s"
        return format(value, format_spec)


_SENTENCE = _Sentence()


def sentences(language: str, area: str) -> dict[str, str]:
    """Every sentence of an area by its name."""
    return dict(_area(language, area))


@cache
def _area(language: str, area: str) -> dict[str, str]:
    path = Path(__file__).parent / language / f"{area}.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: str(sentence) for name, sentence in table.items()}
