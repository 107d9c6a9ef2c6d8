"""Every alternative of every pattern is reached: a text that it matches holds a word that leads to it."""

from __future__ import annotations

from itertools import product
from re import _constants as kind  # type: ignore[attr-defined]  # the standard library's own parser has no stub
from re import _parser as parser  # type: ignore[attr-defined]  # the same

import pytest

from fitserve.diagnose.engine import watched
from fitserve.observe.log.match import Index

_MOST = 96  # texts of one pattern


def _texts(parsed):
    """Texts that this part of a pattern matches; what is free is filled with what joins no words."""
    out = [""]
    for operation, value in parsed:
        out = [f"{text}{more}" for text, more in product(out, _one(operation, value))][: _MOST * 8]
    return out


def _one(operation, value):
    if operation is kind.LITERAL:
        return [chr(value)]
    if operation in (kind.ANY, kind.NOT_LITERAL):
        return [" "]
    if operation is kind.IN:
        return [_member(value)]
    if operation is kind.BRANCH:
        return [text for part in value[1] for text in _texts(part)]
    if operation is kind.SUBPATTERN:
        return _texts(value[-1])
    if operation in (kind.MAX_REPEAT, kind.MIN_REPEAT):
        least, most, part = value
        texts = _texts(part)
        once = [text * max(1, least) for text in texts]
        return once if least or most > 1 else ["", *once]
    return [""]  # a place, or what must not follow


def _member(members):
    operation, value = members[0]
    if operation is kind.LITERAL:
        return chr(value)
    if operation is kind.RANGE:
        return chr(value[0])
    words = {kind.CATEGORY_DIGIT: "7", kind.CATEGORY_WORD: "q", kind.CATEGORY_SPACE: " ", kind.CATEGORY_NOT_SPACE: "q"}
    return words.get(value, " ") if operation is kind.CATEGORY else " "


def unreached(item):
    """Texts that the pattern matches and that the index does not find."""
    index = Index([item])
    texts = [text for text in _texts(parser.parse(item.shape.pattern)) if item.shape.search(text)]
    assert texts, f"no text was found for {item.key}"
    return [text for text in texts if not index.hits(text, remark=item.remark)]


@pytest.mark.parametrize("item", [item for item in watched() if "cjk" not in item.words], ids=lambda item: item.key)
def test_every_alternative_has_a_word_that_leads_to_it(item):
    assert unreached(item) == []
