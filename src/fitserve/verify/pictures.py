"""Pictures with a question: of the demo's world for its model, a coloured square for any other."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fitserve.observe.picture import square
from fitserve.text import current_language, tr

Size = tuple[int, int]
_CHINESE = {"red": "红", "blue": "蓝", "green": "绿", "yellow": "黄"}


@dataclass(frozen=True)
class Asked:
    """A picture as a data URL, a question, and who judges the answer."""

    url: str
    question: str
    is_right: Callable[[str], bool]


def asked(number: int, *, demo: bool, size: Size = (256, 256)) -> Asked:
    """The picture of this number. Numbers that follow each other have different right answers."""
    return _of_the_world(number, size) if demo else _square(number)


def _square(number: int) -> Asked:
    one = square(number)
    url = "data:image/png;base64," + base64.b64encode(one.png).decode()
    names = (one.colour, _CHINESE[one.colour])
    return Asked(url, tr("verify.ask_colour"), lambda answer: any(name in answer.lower() for name in names))


def _of_the_world(number: int, size: Size) -> Asked:
    """How many shapes there are: one in a picture, two in the next, and so on in turn."""
    from fitserve.demo.draw import encode, picture
    from fitserve.demo.judge import is_right
    from fitserve.demo.questions import ask
    from fitserve.demo.world import draw_scene

    rng = Random(f"fitserve verify {number}")
    while True:
        scene = draw_scene(rng, size)
        question = ask(scene, "count", current_language(), 0, rng)
        if question is not None and len(scene.items) == 1 + number % 3:
            break
    url = "data:image/png;base64," + base64.b64encode(encode(picture(scene), "PNG")).decode()
    return Asked(url, question.text, lambda answer: is_right(question, answer))


def plain(size: Size, number: int) -> str:
    """A picture of one colour, of any size, as a data URL."""
    import PIL.Image

    buffer = io.BytesIO()
    colour = (200, 60 + number % 160, 40 + number // 160 % 160)
    PIL.Image.new("RGB", size, colour).save(buffer, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
