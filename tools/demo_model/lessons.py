"""One training step: the tower's lesson alone, or the whole model's with the tower's beside it."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from cells import CellHeads
from network import Network
from stream import Batch
from fitserve.demo.phrasings import KINDS

CELLS_BESIDE = 0.2  # weight of the tower's lesson in the whole model's


@dataclass
class Lesson:
    loss: Tensor
    figures: dict[str, Tensor]


def tower_lesson(network: Network, heads: CellHeads, batch: Batch) -> Lesson:
    loss, seen = heads(network.model.visual(batch.pixels), batch.cells)
    return Lesson(loss, {"cells": loss.detach(), **seen})


def whole_lesson(network: Network, heads: CellHeads, batch: Batch, image_token: int) -> Lesson:
    pictures = network.model.visual(batch.pixels)
    beside, seen = heads(pictures, batch.cells)
    hidden = network.hidden(batch.tokens, batch.positions, pictures.flatten(0, 1), image_token)
    kinds = batch.kinds[:, 1:]
    asked = (kinds >= 0).nonzero(as_tuple=True)
    logits = network.lm_head(hidden[:, :-1][asked]).float()
    wanted = batch.tokens[:, 1:][asked]
    loss = functional.cross_entropy(logits, wanted)
    right = (logits.argmax(-1) == wanted).float()
    figures = {"words": loss.detach(), "cells": beside.detach(), **seen, **_by_kind(right, kinds[asked])}
    return Lesson(loss + CELLS_BESIDE * beside, figures)


def _by_kind(right: Tensor, kinds: Tensor) -> dict[str, Tensor]:
    """The share of right tokens in the answers to each kind of question."""
    of = functional.one_hot(kinds.long(), len(KINDS)).float()
    shares = (of * right[:, None]).sum(0) / of.sum(0).clamp_min(1)
    return {f"{kind}.": share for kind, share in zip(KINDS, shares.unbind(), strict=True)}


def precision(device: torch.device) -> torch.autocast:
    """bfloat16 products where there is a GPU; float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
