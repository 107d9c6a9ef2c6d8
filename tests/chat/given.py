"""Pictures and answers that several tests begin with."""

from __future__ import annotations

from fitserve.chat.answer import Answer, Finish, TextDelta, Usage
from fitserve.chat.images import Picture

RED = Picture("red.png", 8, 8, 8, 8, b"red", tokens=66)
BLUE = Picture("blue.png", 8, 8, 8, 8, b"blue", tokens=66)


def answer(text: str, prompt: int = 40, completion: int = 6) -> Answer:
    """A whole answer."""
    grown = Answer().grown(TextDelta(text), 0.1) if text else Answer()
    return grown.grown(Finish("stop"), 0.2).grown(Usage(prompt, completion), 0.2)
