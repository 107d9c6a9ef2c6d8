"""Many patterns over many lines at the price of a few: a pattern is tried only on lines that hold its word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_WORD = re.compile(r"[a-z_][a-z_0-9]{2,}")


@dataclass(frozen=True)
class Pattern:
    """A shape to look for in a message. `words`: one of them stands in every line that can match, in lower case."""

    key: str
    words: tuple[str, ...]
    shape: re.Pattern[str]


def pattern(key: str, words: str, shape: str, flags: int = 0) -> Pattern:
    """`words` holds alternatives separated by blanks: `pattern("kv", "available", r"Available KV cache memory")`."""
    return Pattern(key, tuple(words.split()), re.compile(shape, flags))


class Index:
    """Patterns by word. Cost of a line: one pass over its words, whatever the number of patterns."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._by_word: dict[str, list[Pattern]] = {}
        for item in patterns:
            for word in item.words:
                self._by_word.setdefault(word, []).append(item)

    def hits(self, text: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
        """Every pattern that matches somewhere in `text`, with its match."""
        for item in self.candidates(text):
            found = item.shape.search(text)
            if found:
                yield item, found

    def candidates(self, text: str) -> list[Pattern]:
        """Patterns whose word stands in `text`, each once."""
        present = self._by_word.keys() & set(_WORD.findall(text.lower()))
        if not present:
            return []
        if len(present) == 1:
            return self._by_word[present.pop()]
        return list({id(item): item for word in sorted(present) for item in self._by_word[word]}.values())
