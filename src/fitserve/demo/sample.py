"""Pictures with a question and its right answer, by seed; no two seeds give the same picture."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from PIL import Image

from fitserve.demo.draw import ImageFormat, encode, picture
from fitserve.demo.judge import is_right
from fitserve.demo.phrasings import HELD_OUT, KINDS, Kind
from fitserve.demo.questions import Question, ask
from fitserve.demo.words import Language
from fitserve.demo.world import Scene, draw_scene

TRAINING_SEEDS = range(1 << 40, 1 << 41)  # the only ones that training draws from
_ANSWERABLE: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "outside")


@dataclass(frozen=True)
class Sample:
    """A picture as a file's bytes, and a question about it."""

    seed: int
    scene: Scene
    question: Question
    image_format: ImageFormat
    image_bytes: bytes

    @cached_property
    def image(self) -> Image.Image:
        """The picture as it was drawn (a JPEG's bytes decode to nearly the same)."""
        return picture(self.scene)

    @property
    def mime_type(self) -> str:
        return f"image/{self.image_format.lower()}"

    def is_right(self, answer: str) -> bool:
        """Whether a free-text answer to the question is right."""
        return is_right(self.question, answer)


def model_dir() -> Path:
    """The folder with the demo model's weights, configuration and tokenizer."""
    return Path(__file__).parent / "model"


def sample(seed: int, language: Language = "en", kind: Kind | None = None, phrasing: int | None = None) -> Sample:
    """The picture and question of a seed.

    `kind` None draws one that can be answered from the picture; `phrasing` (0 to 4, 4 was never trained on) None
    draws a trained one. The same arguments give the same sample.
    """
    rng = Random(f"fitserve demo {seed}")
    wanted = rng.choice(_ANSWERABLE) if kind is None else kind
    phrasing = rng.randrange(HELD_OUT) if phrasing is None else phrasing
    question = None
    while question is None:
        scene = draw_scene(rng)
        question = ask(scene, wanted, language, phrasing, rng)
    image_format: ImageFormat = rng.choice(("PNG", "JPEG"))
    return Sample(seed, scene, question, image_format, encode(picture(scene), image_format, rng.randint(75, 95)))
