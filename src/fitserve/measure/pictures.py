"""Pictures for a load: drawn by seed in the sizes asked for, never twice the same, so that no image cache answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from fitserve.demo.phrasings import Kind

if TYPE_CHECKING:
    from fitserve.demo.questions import Question
    from fitserve.demo.words import Language

Size = tuple[int, int]  # width, height in pixels
KINDS: tuple[Kind, ...] = ("colour", "place", "count", "count_kind", "bigger", "digit")
SIDE_LIMIT = 8192
_SCENES_TRIED = 200


@dataclass(frozen=True)
class Drawn:
    """One picture as the bytes of a JPEG file, with a question that the demo world can answer."""

    size: Size
    data: bytes
    question: Question

    @property
    def data_url(self) -> str:
        """As an OpenAI endpoint takes it."""
        return "data:image/jpeg;base64," + base64.b64encode(self.data).decode()


def parse_size(text: str) -> Size:
    """`448`, `1024x768` as width and height. Raises ValueError."""
    parts = text.lower().replace("×", "x").split("x")
    sides = [int(part) for part in parts]
    if len(sides) not in (1, 2) or not all(16 <= side <= SIDE_LIMIT for side in sides):
        raise ValueError(text)
    return sides[0], sides[-1]


def pictures(seed: str, sizes: tuple[Size, ...], language: Language) -> Iterator[Drawn]:
    """Endless, the sizes in turn. The same seed draws the same pictures; within one seed no two are the same."""
    seen: set[bytes] = set()
    number = 0
    while True:
        drawn = draw(Random(f"{seed} {number}"), sizes[number % len(sizes)], language)
        number += 1
        if drawn.data not in seen:
            seen.add(drawn.data)
            yield drawn


def draw(rng: Random, size: Size, language: Language) -> Drawn:
    """One picture of this size and a question about it."""
    from fitserve.demo.draw import encode, picture
    from fitserve.demo.questions import ask
    from fitserve.demo.world import draw_scene

    for _ in range(_SCENES_TRIED):  # not every scene has a clear answer to every kind of question
        scene = draw_scene(rng, size)
        question = ask(scene, rng.choice(KINDS), language, rng.randrange(4), rng)
        if question is not None:
            return Drawn(size, encode(picture(scene), "JPEG"), question)
    raise AssertionError("the demo world has questions for nearly every scene")
