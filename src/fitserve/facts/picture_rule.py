"""What a model's processor makes of a picture: the size it is brought to, and the tokens that it costs.

Qwen's rule (`smart_resize` in transformers' qwen2_vl processor, used by Qwen2-VL to Qwen3.5): both sides become whole
cells, the pixels stay between two bounds, the shape is kept as nearly as that allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PictureRule:
    """`cell` is the side, in pixels, of what becomes one token: patch times merge."""

    cell: int
    min_pixels: int
    max_pixels: int
    marks: int = 2  # tokens around each picture: its start and its end

    def size(self, width: int, height: int) -> tuple[int, int]:
        """The size that the tower sees of a picture of this size."""
        cell = self.cell
        wide, high = round(width / cell) * cell, round(height / cell) * cell
        if wide * high > self.max_pixels:
            scale = math.sqrt(width * height / self.max_pixels)
            wide = max(cell, math.floor(width / scale / cell) * cell)
            high = max(cell, math.floor(height / scale / cell) * cell)
        elif wide * high < self.min_pixels:
            scale = math.sqrt(self.min_pixels / (width * height))
            wide, high = math.ceil(width * scale / cell) * cell, math.ceil(height * scale / cell) * cell
        return wide, high

    def tokens(self, width: int, height: int) -> int:
        """What a picture of this size takes of the window, its marks included."""
        wide, high = self.size(width, height)
        return (wide // self.cell) * (high // self.cell) + self.marks

    @property
    def most_tokens(self) -> int:
        """What the largest picture costs, however large it is sent."""
        return self.max_pixels // self.cell**2 + self.marks
