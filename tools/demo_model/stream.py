"""Batches drawn on the fly in worker processes; the same seed gives the same batches in the same order.

Every batch is of one of a fixed list of picture sizes, and all of its tensors' shapes follow from that size: the
steps can be recorded once a size and replayed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from random import Random

import numpy as np
import torch
from cells import CELL_PX, labels
from conversations import turn, turn_without_picture
from grounds import on_bare_ground
from PIL import Image
from rows import Row, Writer
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from fitserve.demo.draw import encode, picture
from fitserve.demo.sample import TRAINING_SEEDS
from fitserve.demo.world import SIDE_PX, Scene, draw_scene, draw_size

TEXT_TOKENS = 136  # room for four to six turns beside the picture
ROW_STEP = 64


@dataclass
class Batch:
    """Pictures of one size [n, height, width, 3], their cells, and rows padded to one length.

    `sources` says for each token of the rows which picture token stands there, counted through all pictures.
    """

    pixels: Tensor
    cells: Tensor
    tokens: Tensor
    positions: Tensor
    kinds: Tensor
    sources: Tensor

    def parts(self) -> list[Tensor]:
        return list(vars(self).values())

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(part.to(device, non_blocking=True) for part in self.parts()))

    def pin_memory(self) -> "Batch":
        return Batch(*(part.pin_memory() for part in self.parts()))


@dataclass(frozen=True)
class Plan:
    """How a batch of one picture size is made up."""

    width: int
    height: int
    pairs: int
    singles: int
    blind: int

    @property
    def columns(self) -> int:
        return self.width // CELL_PX

    @property
    def down(self) -> int:
        return self.height // CELL_PX

    @property
    def length(self) -> int:
        return -(-(self.columns * self.down + TEXT_TOKENS) // ROW_STEP) * ROW_STEP


def plans(patches: int, sizes: int = 48, most_pictures: int = 160) -> list[Plan]:
    """The batches' sizes: drawn as a picture's size is drawn, so that frequent ones are frequent."""
    rng = Random(7)
    found = []
    for _ in range(sizes):
        width, height = rounded(draw_size(rng))
        pictures = min(most_pictures, max(8, patches * 256 // (width * height)))
        room = width * height // CELL_PX**2 <= TEXT_TOKENS // 2
        pairs = pictures // 10 if room else 0
        found.append(Plan(width, height, pairs, pictures - 2 * pairs, max(1, pictures // 50)))
    return found


def rounded(size: tuple[int, int]) -> tuple[int, int]:
    """What the processor makes of a picture's size."""
    width, height = (max(SIDE_PX[0], round(side / CELL_PX) * CELL_PX) for side in size)
    return width, height


class Stream(IterableDataset[Batch]):
    """Endless batches of about `patches` patches of 16 x 16 pixels each; a share of the pictures on white or black."""

    def __init__(self, tokenizer: Tokenizer, seed: int, patches: int, bare: float = 0.0) -> None:
        self.tokenizer_text = tokenizer.to_str()
        self.seed = seed
        self.bare = bare
        self.plans = plans(patches)

    def __iter__(self) -> Iterator[Batch]:
        tokenizer = Tokenizer.from_str(self.tokenizer_text)
        worker = get_worker_info()
        first = TRAINING_SEEDS.start + (self.seed * 4096 + (worker.id if worker else 0)) * 10**6
        for number in range(10**6):
            yield self._batch(tokenizer, Random(f"training {first + number}"))

    def _batch(self, tokenizer: Tokenizer, rng: Random) -> Batch:
        plan = rng.choice(self.plans)
        scenes = [self._scene(rng, plan) for _ in range(2 * plan.pairs + plan.singles)]
        pixels = np.stack([_pixels(scene, plan, rng) for scene in scenes])
        cells = np.array([labels(scene, plan.columns, plan.down) for scene in scenes], dtype=np.float32)
        writer = Writer(tokenizer, plan.columns, plan.down)
        rows = list(_rows(writer, plan, scenes, rng))
        return Batch(torch.from_numpy(pixels), torch.from_numpy(cells), *padded(rows, writer.image, plan.length))

    def _scene(self, rng: Random, plan: Plan) -> Scene:
        scene = draw_scene(rng, _near(rng, plan))
        return on_bare_ground(scene, rng) if self.bare and rng.random() < self.bare else scene


def _rows(writer: Writer, plan: Plan, scenes: list[Scene], rng: Random) -> Iterator[Row]:
    for index in range(plan.pairs):
        yield _filled(writer, scenes[2 * index : 2 * index + 2], plan.length, rng)
    for scene in scenes[2 * plan.pairs :]:
        yield _filled(writer, [scene], plan.length, rng)
    for _ in range(plan.blind):
        row = Row()
        blind = turn_without_picture(rng.choice(scenes), rng)
        writer.append(row, blind.text, blind.kind)
        yield row


def _filled(writer: Writer, scenes: list[Scene], limit: int, rng: Random) -> Row:
    """A row with each scene's first turn, then turns about the last one as long as they fit."""
    row = Row()
    for scene in scenes:
        while True:
            first = turn(scene, True, rng)
            if writer.append(row, first.text, first.kind, limit):
                break
    while True:
        more = turn(scenes[-1], False, rng)
        if not writer.append(row, more.text, more.kind, limit):
            return row


def _near(rng: Random, plan: Plan) -> tuple[int, int]:
    """A size that the processor rounds to the plan's; half of the time the plan's own, which is quicker to draw."""
    if rng.random() < 0.5:
        return plan.width, plan.height
    near = [min(SIDE_PX[1], max(SIDE_PX[0], side + rng.randint(-15, 15))) for side in (plan.width, plan.height)]
    return near[0], near[1]


def _pixels(scene: Scene, plan: Plan, rng: Random) -> "np.ndarray":
    image = picture(scene)
    if rng.random() < 0.5:
        image = Image.open(BytesIO(encode(image, "JPEG", rng.randint(70, 95))))
    if image.size != (plan.width, plan.height):
        image = image.resize((plan.width, plan.height), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.uint8)


def padded(rows: list[Row], image: int, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens [rows, length], positions [3, rows, length], kinds and sources [rows, length]."""
    tokens = np.zeros((len(rows), length), dtype=np.int64)
    positions = np.zeros((3, len(rows), length), dtype=np.int64)
    kinds = np.full((len(rows), length), -1, dtype=np.int64)
    for index, each in enumerate(rows):
        size = len(each.tokens)
        tokens[index, :size] = each.tokens
        positions[:, index, :size] = np.array(each.positions).T
        kinds[index, :size] = each.kinds
    sources = np.where(tokens == image, np.cumsum(tokens == image).reshape(tokens.shape) - 1, 0)
    return torch.from_numpy(tokens), torch.from_numpy(positions), torch.from_numpy(kinds), torch.from_numpy(sources)


def loader(stream: Stream, workers: int) -> "DataLoader[Batch]":
    pinned = torch.cuda.is_available()
    more = {"prefetch_factor": 3, "persistent_workers": True} if workers else {}
    return DataLoader(stream, batch_size=None, num_workers=workers, pin_memory=pinned, **more)
