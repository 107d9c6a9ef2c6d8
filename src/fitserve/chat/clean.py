"""Text that a model or a server wrote, made harmless for a terminal."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    r"|\x1b[\]PX^_].{0,1024}?(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and their kin, up to their end: titles, links, clipboard
    r"|\x1b(?:[ -/]+[0-~]|[0-OQ-WYZ\\`-~])",  # short escapes, not the openings above
    re.DOTALL,
)
_LONE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # tabs and line feeds stay
_HELD_LIMIT = 4096  # an escape that never ends is dropped, not collected


def strip_control(text: str) -> str:
    """Without escape sequences, control characters and marks that reorder a line."""
    return _LONE.sub("", _SEQUENCE.sub("", text))


class ControlFilter:
    """The same for text that comes in pieces: a sequence cut in half is held until it is whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        text = _SEQUENCE.sub("", self._held + piece)
        start = text.find("\x1b")
        if start < 0:
            self._held = ""
            return strip_control(text)
        self._held = text[start:] if len(text) - start <= _HELD_LIMIT else ""
        return strip_control(text[:start])
