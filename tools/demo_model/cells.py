"""What the tower is taught first: which thing stands in each cell of 32 x 32 pixels."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from fitserve.demo.world import COLOURS, SHAPES, Item, Scene

CELL_PX = 32
HEADS = {"colour": len(COLOURS) + 1, "thing": len(SHAPES) + 2, "digit": 11, "centre": 1, "size": 1}


def labels(scene: Scene, columns: int, rows: int) -> list[tuple[int, int, int, int, float]]:
    """For each cell, row by row: colour, thing (7 is a digit), digit + 1, whether a centre is in it, log size."""
    found = [(0, 0, 0, 0, 0.0)] * (columns * rows)
    across, down = columns * CELL_PX / scene.width, rows * CELL_PX / scene.height
    for thing in (*scene.items, *([scene.digit] if scene.digit else [])):
        x, y = thing.x * across / CELL_PX, thing.y * down / CELL_PX
        half = thing.size * 0.5 * (across + down) / 2 / CELL_PX
        middle = min(int(y), rows - 1) * columns + min(int(x), columns - 1)
        label = _label(thing) if isinstance(thing, Item) else (0, len(SHAPES) + 1, thing.value + 1)
        for row in range(max(0, math.ceil(y - half * 0.8 - 0.5)), min(rows, math.floor(y + half * 0.8 + 0.5))):
            for column in range(
                max(0, math.ceil(x - half * 0.8 - 0.5)), min(columns, math.floor(x + half * 0.8 + 0.5))
            ):
                found[row * columns + column] = (*label, found[row * columns + column][3], math.log(half * 2))
        found[middle] = (*label, 1, math.log(half * 2))
    return found


def _label(item: Item) -> tuple[int, int, int]:
    return COLOURS.index(item.colour) + 1, SHAPES.index(item.shape) + 1, 0


class CellHeads(nn.Module):
    """A linear reading of the tower's tokens; thrown away after training."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.read = nn.Linear(hidden, sum(HEADS.values()))

    def forward(self, tokens: Tensor, wanted: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss and accuracies; `tokens` [pictures, cells, hidden], `wanted` [pictures, cells, 5]."""
        parts = dict(zip(HEADS, self.read(tokens).float().split(tuple(HEADS.values()), -1), strict=True))
        there = wanted[..., 1] > 0
        loss = tokens.new_zeros(())
        seen = {}
        for index, name in enumerate(("colour", "thing", "digit")):
            target = wanted[..., index].long()
            each = functional.cross_entropy(parts[name].flatten(0, 1), target.flatten(), reduction="none")
            loss = loss + _weighted(each, there.flatten())
            seen[name] = ((parts[name].argmax(-1) == target) & there).sum() / there.sum()
        centre = wanted[..., 3]
        found = functional.binary_cross_entropy_with_logits(parts["centre"][..., 0], centre, reduction="none")
        size = ((parts["size"][..., 0] - wanted[..., 4]) ** 2 * there).sum() / there.sum()
        seen["centre"] = ((parts["centre"][..., 0] > 0) == (centre > 0)).all(1).float().mean()
        return loss + _weighted(found.flatten(), there.flatten()) + 0.3 * size, seen


def _weighted(loss: Tensor, there: Tensor) -> Tensor:
    """Cells with a thing and cells without count alike, however few the first are."""
    weight = torch.where(there, 1.0 / there.sum(), 0.5 / (~there).sum())
    return (loss * weight).sum()
