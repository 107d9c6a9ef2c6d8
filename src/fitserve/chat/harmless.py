"""Markdown that a model wrote, for a viewer of which nothing is known: it stays Markdown, but nothing is loaded or run.

Raw HTML and pictures become text; code is left as it is, as far as every viewer is sure to take it for code.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPAN = re.compile(r"(?<![`\\])(`+)(?!`).+?(?<!`)\1(?!`)")
_LOADS = ("html_block", "html_inline", "image")
_AS_TEXT = MarkdownIt("commonmark", {"html": False})  # as it is read once no `<` begins a tag
_AS_HTML = MarkdownIt("commonmark")


def harmless(markdown: str) -> str:
    """Without raw HTML and pictures, and with its last fence closed."""
    text = _closed(markdown)
    for keep in (_SPAN, None):
        found = _escaped(text, keep)
        if not _loads(_AS_HTML.parse(found)):
            break
    return found


def harmless_line(text: str, keep: re.Pattern[str] | None = None) -> str:
    """One line of it; what matches `keep` stays."""
    if keep is None:
        return _TAG.sub("&lt;", text).replace("![", r"!\[")
    kept = [found.span() for found in keep.finditer(text)]
    edges = [0, *(edge for span in kept for edge in span), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    return "".join(piece if at % 2 else harmless_line(piece) for at, piece in enumerate(pieces))


def _escaped(text: str, keep: re.Pattern[str] | None) -> str:
    code = {line for token in _AS_TEXT.parse(text) if token.type in ("fence", "code_block") for line in _lines(token)}
    lines = enumerate(text.split("\n"))
    return "\n".join(line if number in code else harmless_line(line, keep) for number, line in lines)


def _closed(markdown: str) -> str:
    """With a fence that was still open (the answer broke off) closed, so that it takes in nothing else."""
    text = re.sub(r"\r\n?", "\n", markdown)
    last = _AS_TEXT.parse(f"{text}\n\nend")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def _lines(token: Token) -> Iterable[int]:
    return range(*token.map) if token.map else ()


def _loads(tokens: Iterable[Token]) -> bool:
    return any(token.type in _LOADS or _loads(token.children or ()) for token in tokens)
