"""Training conversations: a picture, several turns about it, now and then a second picture."""

from dataclasses import dataclass, replace
from random import Random

import manners
from paraphrases import PARAPHRASES

from fitserve.demo.phrasings import HELD_OUT, KINDS, Kind
from fitserve.demo.questions import Question, ask
from fitserve.demo.words import LANGUAGES
from fitserve.demo.world import Scene

WEIGHTS: dict[Kind, int] = {
    "colour": 20, "place": 20, "count": 15, "count_kind": 22, "bigger": 14, "digit": 12, "outside": 8,
}  # fmt: skip
PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"
CANT_TELL = {"en": "I can't tell.", "zh": "我看不出来。"}


@dataclass(frozen=True)
class Turn:
    """A question with the picture it comes with (if it does), the answer, and what kind it is."""

    text: str
    kind: Kind
    shows: bool


def opening(question: str, with_picture: bool = True, text_first: bool = False) -> str:
    """A user's turn, and the beginning of the answer's."""
    shown = PICTURE if with_picture else ""
    both = question + shown if text_first else shown + question
    return f"<|im_start|>user\n{both}<|im_end|>\n<|im_start|>assistant\n"


def turn(scene: Scene, first: bool, rng: Random) -> Turn:
    """A turn about the scene; the picture comes with the first."""
    question = any_question(scene, rng)
    text = opening(question.text, first, rng.random() < 0.15) + question.answer + "<|im_end|>\n"
    return Turn(text, question.kind, first)


def turn_without_picture(scene: Scene, rng: Random) -> Turn:
    """A question about a picture that was not sent can't be answered."""
    question = any_question(scene, rng)
    text = opening(question.text, with_picture=False) + CANT_TELL[question.language] + "<|im_end|>\n"
    return Turn(text, "outside", False)


def any_question(scene: Scene, rng: Random) -> Question:
    """A question in either language, in a phrasing that is trained on or in other words."""
    language = rng.choice(LANGUAGES)
    question = None
    while question is None:
        kind = rng.choices(KINDS, [WEIGHTS[kind] for kind in KINDS])[0]
        others = PARAPHRASES[language].get(kind)
        template = rng.choice(others) if others and rng.random() < 0.4 else None
        question = ask(scene, kind, language, rng.randrange(HELD_OUT), rng, template)
    text = manners.strange(language, rng) if kind == "outside" and rng.random() < 0.7 else question.text
    return replace(question, text=manners.dressed(text, language, rng))
