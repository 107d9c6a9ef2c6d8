"""Training conversations: a picture, several turns about it, now and then a second picture."""

from dataclasses import dataclass, replace
from random import Random

from fitserve.demo.phrasings import HELD_OUT, KINDS, Kind
from fitserve.demo.questions import Question, ask
from fitserve.demo.words import LANGUAGES
from fitserve.demo.world import Scene

import manners

WEIGHTS: dict[Kind, int] = {
    "colour": 20, "place": 20, "count": 15, "count_kind": 22, "bigger": 14, "digit": 12, "outside": 8,
}  # fmt: skip
PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"
SYSTEM = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
CANT_TELL = {"en": "I can't tell.", "zh": "我看不出来。"}


@dataclass(frozen=True)
class Conversation:
    """Its text (one <|image_pad|> a picture), the kinds of its turns in order, and the scenes it shows."""

    text: str
    kinds: tuple[Kind, ...]
    scenes: tuple[Scene, ...]


def opening(question: str, with_picture: bool = True, text_first: bool = False) -> str:
    """A user's turn, and the beginning of the answer's."""
    shown = PICTURE if with_picture else ""
    both = question + shown if text_first else shown + question
    return f"<|im_start|>user\n{both}<|im_end|>\n<|im_start|>assistant\n"


def conversation(scenes: list[Scene], turns: int, rng: Random) -> Conversation:
    """Turns about each scene, in order; the picture comes with the first question about it."""
    text = SYSTEM if rng.random() < 0.05 else ""
    kinds: list[Kind] = []
    for index, scene in enumerate(scenes):
        for turn in range(turns if index == len(scenes) - 1 else 1):
            question = any_question(scene, rng)
            text += opening(question.text, turn == 0, rng.random() < 0.15) + question.answer + "<|im_end|>\n"
            kinds.append(question.kind)
    return Conversation(text, tuple(kinds), tuple(scenes))


def without_picture(scene: Scene, rng: Random) -> Conversation:
    """A question about a picture that was not sent can't be answered."""
    question = any_question(scene, rng)
    text = opening(question.text, with_picture=False) + CANT_TELL[question.language] + "<|im_end|>\n"
    return Conversation(text, ("outside",), ())


def any_question(scene: Scene, rng: Random) -> Question:
    """A question in either language, in a phrasing that is trained on."""
    language = rng.choice(LANGUAGES)
    while True:
        kind = rng.choices(KINDS, [WEIGHTS[kind] for kind in KINDS])[0]
        question = ask(scene, kind, language, rng.randrange(HELD_OUT), rng)
        if question:
            break
    text = manners.strange(language, rng) if kind == "outside" and rng.random() < 0.6 else question.text
    return replace(question, text=manners.dressed(text, language, rng))
