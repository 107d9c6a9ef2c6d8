"""Many patterns over many lines at the price of a few: a pattern is tried only on lines that hold its word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CJK = "cjk"  # the word of a pattern that looks for Chinese
_MEMO = 8192  # texts whose matches are remembered
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[a-z_][a-z_0-9]{2,}")


@dataclass(frozen=True, eq=False)
class Pattern:
    """A shape to look for in a message. `words`: one of them stands in every line that can match, in lower case."""

    key: str
    words: tuple[str, ...]
    shape: re.Pattern[str]
    remark: bool = False  # looked for in a person's remarks alone


Found = list[tuple[int, Pattern, re.Match[str]]]


def pattern(key: str, words: str, shape: str, flags: int = 0) -> Pattern:
    """`words` holds alternatives separated by blanks: `pattern("kv", "available", r"Available KV cache memory")`."""
    return Pattern(key, tuple(words.split()), re.compile(shape, flags))


class Index:
    """Patterns by word. Cost of a line: one pass over its words, whatever the number of patterns.

    Patterns come in groups, so that one pass serves several readers: a hit tells the number of its group.
    """

    def __init__(self, *groups: Iterable[Pattern]) -> None:
        self._by_word: dict[str, list[tuple[int, Pattern]]] = {}
        self._by_remark: dict[str, list[tuple[int, Pattern]]] = {}
        for number, patterns in enumerate(groups):
            for item in patterns:
                table = self._by_remark if item.remark else self._by_word
                for word in item.words:
                    table.setdefault(word, []).append((number, item))
        self._memo: dict[str, Found] = {}

    def hits(self, text: str, *, remark: bool = False) -> Found:
        """Group number, pattern and match of every pattern that matches somewhere in `text`."""
        if remark:
            return _search(text, self._by_word) + _search(text, self._by_remark)
        known = self._memo.get(text)
        if known is None:
            known = _search(text, self._by_word)
            if known:  # a log repeats itself: what said something is remembered
                if len(self._memo) >= _MEMO:
                    self._memo.clear()
                self._memo[text] = known
        return known


def _search(text: str, table: dict[str, list[tuple[int, Pattern]]]) -> Found:
    present = table.keys() & set(_WORD.findall(text.lower()))
    if not text.isascii() and CJK in table and _HAN.search(text):
        present.add(CJK)
    out: Found = []
    tried: set[Pattern] = set()
    for word in present:
        for number, item in table[word]:
            if item in tried:
                continue
            if len(item.words) > 1:
                tried.add(item)
            if found := item.shape.search(text):
                out.append((number, item, found))
    return out
