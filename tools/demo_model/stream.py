"""Batches drawn on the fly in worker processes; the same seed gives the same batches in the same order."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from random import Random

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from cells import CELL_PX, labels
from conversations import Conversation, conversation, without_picture
from rows import Row, row
from fitserve.demo.draw import encode, picture
from fitserve.demo.sample import TRAINING_SEEDS
from fitserve.demo.world import SIDE_PX, Scene, draw_scene, draw_size


@dataclass
class Batch:
    """Pictures of one size [n, height, width, 3], their cells, and rows padded to one length."""

    pixels: Tensor
    cells: Tensor
    tokens: Tensor
    positions: Tensor
    kinds: Tensor

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(part.to(device, non_blocking=True) for part in vars(self).values()))

    def pin_memory(self) -> "Batch":
        return Batch(*(part.pin_memory() for part in vars(self).values()))


class Stream(IterableDataset[Batch]):
    """Endless batches of about `patches` patches of 16 x 16 pixels each."""

    def __init__(self, tokenizer: Tokenizer, seed: int, patches: int, most_pictures: int = 192) -> None:
        self.tokenizer_text = tokenizer.to_str()
        self.seed = seed
        self.patches = patches
        self.most_pictures = most_pictures

    def __iter__(self) -> Iterator[Batch]:
        tokenizer = Tokenizer.from_str(self.tokenizer_text)
        worker = get_worker_info()
        first = TRAINING_SEEDS.start + (self.seed * 4096 + (worker.id if worker else 0)) * 10**6
        for number in range(10**6):
            yield self._batch(tokenizer, Random(f"training {first + number}"))

    def _batch(self, tokenizer: Tokenizer, rng: Random) -> Batch:
        width, height = (max(SIDE_PX[0], round(side / CELL_PX) * CELL_PX) for side in draw_size(rng))
        count = min(self.most_pictures, max(8, self.patches * 256 // (width * height)))
        talks: list[Conversation] = []
        while sum(len(talk.scenes) for talk in talks) < count:
            talks.append(_talk(rng, width, height))
        scenes = [scene for talk in talks for scene in talk.scenes]
        pixels = np.stack([_pixels(scene, width, height, rng) for scene in scenes])
        columns, down = width // CELL_PX, height // CELL_PX
        cells = torch.tensor([labels(scene, columns, down) for scene in scenes], dtype=torch.float32)
        found = [row(tokenizer, talk, columns, down) for talk in talks]
        return Batch(torch.from_numpy(pixels), cells, *padded(found))


def _talk(rng: Random, width: int, height: int) -> Conversation:
    chance = rng.random()
    scenes = [draw_scene(rng, _near(rng, width, height)) for _ in range(2 if chance < 0.06 else 1)]
    return without_picture(scenes[0], rng) if chance > 0.98 else conversation(scenes, rng.randint(4, 6), rng)


def _near(rng: Random, width: int, height: int) -> tuple[int, int]:
    """A size that the processor rounds to this one."""
    near = [min(SIDE_PX[1], max(SIDE_PX[0], side + rng.randint(-15, 15))) for side in (width, height)]
    return near[0], near[1]


def _pixels(scene: Scene, width: int, height: int, rng: Random) -> "np.ndarray":
    image = picture(scene)
    if rng.random() < 0.5:
        image = Image.open(BytesIO(encode(image, "JPEG", rng.randint(70, 95))))
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.uint8)


def padded(rows: list[Row], multiple: int = 64) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens [rows, length], positions [3, rows, length] and kinds [rows, length] of rows of unlike length."""
    length = -(-max(len(each.tokens) for each in rows) // multiple) * multiple
    tokens = torch.zeros(len(rows), length, dtype=torch.long)
    positions = torch.zeros(3, len(rows), length, dtype=torch.long)
    kinds = torch.full((len(rows), length), -1, dtype=torch.int8)
    for index, each in enumerate(rows):
        size = len(each.tokens)
        tokens[index, :size] = torch.tensor(each.tokens)
        positions[:, index, :size] = torch.tensor(each.positions).T
        kinds[index, :size] = torch.tensor(each.kinds, dtype=torch.int8)
    return tokens, positions, kinds


def loader(stream: Stream, workers: int) -> "DataLoader[Batch]":
    pinned = torch.cuda.is_available()
    more = {"prefetch_factor": 3, "persistent_workers": True} if workers else {}
    return DataLoader(stream, batch_size=None, num_workers=workers, pin_memory=pinned, **more)
