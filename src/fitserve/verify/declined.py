"""An answer that only says that there is none: words and an end, and still nothing that was asked for."""

from __future__ import annotations

import re

_DECLINES = re.compile(
    r"\b(?:can(?:'|’)?t|cannot|can not|unable to|not able to|don(?:'|’)?t know|i(?:'|’)m sorry|as an ai)\b"
    r"|看不出|看不到|不知道|不清楚|无法|不能|抱歉|对不起",
    re.IGNORECASE,
)


def declines(answer: str) -> bool:
    """Whether the model says, in either language, that it can't."""
    return _DECLINES.search(answer) is not None
