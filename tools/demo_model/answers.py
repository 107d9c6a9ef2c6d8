"""Greedy answers of a network that is still in training, many questions at once."""

from io import BytesIO

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer

from cells import CELL_PX
from conversations import Conversation, opening
from network import Network
from rows import Row, row
from stream import padded
from fitserve.demo.sample import Sample
from fitserve.demo.world import SIDE_PX

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
        talk = Conversation(opening(sample.question.text), (sample.question.kind,), (sample.scene,))
        rows.append(row(tokenizer, talk, pixels.shape[1] // CELL_PX, pixels.shape[0] // CELL_PX))
    image = tokenizer.token_to_id("<|image_pad|>")
    said = _continued(network, rows, torch.cat(pictures), image, tokenizer.token_to_id("<|im_end|>"))
    return [tokenizer.decode(tokens) for tokens in said]


def _continued(network: Network, rows: list[Row], pictures: torch.Tensor, image: int, end: int) -> list[list[int]]:
    said: list[list[int]] = [[] for _ in rows]
    device = pictures.device
    for _ in range(LONGEST):
        tokens, positions, _ = padded(rows)
        hidden = network.hidden(tokens.to(device), positions.to(device), pictures, image)
        last = torch.tensor([len(each.tokens) - 1 for each in rows], device=device)
        logits = network.lm_head(hidden[torch.arange(len(rows), device=device), last])
        logits[:, image] = -torch.inf  # an untrained network may want to draw
        nexts = logits.argmax(-1).tolist()
        for index, token in enumerate(nexts):
            said[index].append(token)
        rows = [_longer(each, token) for each, token in zip(rows, nexts, strict=True)]
        if all(end in tokens for tokens in said):
            break
    return [tokens[: tokens.index(end)] if end in tokens else tokens for tokens in said]


def _longer(each: Row, token: int) -> Row:
    now = max(each.positions[-1]) + 1
    return Row([*each.tokens, token], [*each.positions, (now, now, now)], [*each.kinds, -1])


def _pixels(sample: Sample) -> torch.Tensor:
    image = Image.open(BytesIO(sample.image_bytes)).convert("RGB")
    width, height = (max(SIDE_PX[0], round(side / CELL_PX) * CELL_PX) for side in image.size)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image))
