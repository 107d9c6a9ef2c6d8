"""Greedy answers of a network that is still in training, many questions at once."""

from io import BytesIO

import numpy as np
import torch
from cells import CELL_PX
from conversations import opening
from network import Network
from PIL import Image
from rows import Row, Writer
from stream import ROW_STEP, padded, rounded
from tokenizers import Tokenizer

from fitserve.demo.sample import Sample

LONGEST = 24


@torch.no_grad()
def answers(network: Network, tokenizer: Tokenizer, samples: list[Sample], size: int = 64) -> list[str]:
    """The answer to each sample's question, in order."""
    found: list[str] = []
    for start in range(0, len(samples), size):
        found += _some(network, tokenizer, samples[start : start + size])
    return found


def _some(network: Network, tokenizer: Tokenizer, samples: list[Sample]) -> list[str]:
    device = network.lm_head.weight.device
    rows, pictures = [], []
    for sample in samples:
        pixels = _pixels(sample).to(device)
        pictures.append(network.model.visual(pixels[None])[0])
        writer = Writer(tokenizer, pixels.shape[1] // CELL_PX, pixels.shape[0] // CELL_PX)
        rows.append(Row())
        writer.append(rows[-1], opening(sample.question.text), sample.question.kind)
    said = _continued(network, rows, torch.cat(pictures), writer)
    return [tokenizer.decode(tokens) for tokens in said]


def _continued(network: Network, rows: list[Row], pictures: torch.Tensor, writer: Writer) -> list[list[int]]:
    said: list[list[int]] = [[] for _ in rows]
    for _ in range(LONGEST):
        for row, tokens, token in zip(rows, said, _next(network, rows, pictures, writer.image), strict=True):
            tokens.append(token)
            row.say(token)
        if all(writer.end in tokens for tokens in said):
            break
    return [tokens[: tokens.index(writer.end)] if writer.end in tokens else tokens for tokens in said]


def _next(network: Network, rows: list[Row], pictures: torch.Tensor, image: int) -> list[int]:
    length = -(-max(len(row.tokens) for row in rows) // ROW_STEP) * ROW_STEP
    tokens, positions, _, sources = (part.to(pictures.device) for part in padded(rows, image, length))
    hidden = network.hidden(tokens, positions, pictures, sources, image)
    last = torch.tensor([len(row.tokens) - 1 for row in rows], device=pictures.device)
    logits = network.lm_head(hidden[torch.arange(len(rows), device=pictures.device), last])
    logits[:, image] = -torch.inf  # an untrained network may want to draw
    return logits.argmax(-1).tolist()


def _pixels(sample: Sample) -> torch.Tensor:
    image = Image.open(BytesIO(sample.image_bytes)).convert("RGB")
    if image.size != rounded(image.size):
        image = image.resize(rounded(image.size), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image))
