"""One training step: the tower's lesson alone, or the whole model's with the tower's beside it."""

import torch
from cells import CellHeads
from network import Network
from stream import Batch
from torch import Tensor
from torch.nn import functional

from fitserve.demo.phrasings import KINDS

CELLS_BESIDE = 0.2  # weight of the tower's lesson in the whole model's


Figures = dict[str, Tensor]


def tower_lesson(network: Network, heads: CellHeads, batch: Batch) -> tuple[Tensor, Figures]:
    """Loss and figures of the tower alone."""
    loss, seen = heads(network.model.visual(batch.pixels), batch.cells)
    return loss, {"cells": loss.detach(), **seen}


def whole_lesson(network: Network, heads: CellHeads, batch: Batch, image_token: int) -> tuple[Tensor, Figures]:
    """Loss and figures of answering, with the tower's lesson beside it."""
    pictures = network.model.visual(batch.pixels)
    beside, seen = heads(pictures, batch.cells)
    hidden = network.hidden(batch.tokens, batch.positions, pictures.flatten(0, 1), batch.sources, image_token)
    logits = network.lm_head(hidden)[:, :-1].float()
    wanted, kinds = batch.tokens[:, 1:], batch.kinds[:, 1:]
    asked = (kinds >= 0).float()
    each = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none").view_as(asked)
    loss = (each * asked).sum() / asked.sum()
    figures = {"words": loss.detach(), "cells": beside.detach(), **seen, **_by_kind(logits.argmax(-1) == wanted, kinds)}
    return loss + CELLS_BESIDE * beside, figures


def _by_kind(right: Tensor, kinds: Tensor) -> Figures:
    """The share of right tokens in the answers to each kind of question."""
    of = torch.stack([kinds == index for index in range(len(KINDS))]).float()
    shares = (of * right).sum((1, 2)) / of.sum((1, 2)).clamp_min(1)
    return {f"{kind}.": share for kind, share in zip(KINDS, shares.unbind(), strict=True)}


def precision(device: torch.device) -> torch.autocast:
    """bfloat16 products where there is a GPU; float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
