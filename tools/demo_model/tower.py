"""The vision tower as Qwen3.5 has it, for batches of pictures of one size; weights are named as in the checkpoint."""

import torch
from shape import VisionShape
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.proj = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        """`x` is [pictures, patches, hidden]."""
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        query, key = (turned(part, *rotary).to(value.dtype) for part in (query, key))
        return self.proj(functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding over the whole last dimension; halves rotate against each other."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Mlp(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(shape.hidden, shape.intermediate)
        self.linear_fc2 = nn.Linear(shape.intermediate, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_fc2(functional.gelu(self.linear_fc1(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(shape.hidden, eps=1e-6)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=1e-6)
        self.attn = Attention(shape)
        self.mlp = Mlp(shape)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.attn(self.norm1(x), rotary)
        return x + self.mlp(self.norm2(x))


class Merger(nn.Module):
    """Four patches become one token of the language model."""

    def __init__(self, shape: VisionShape, out: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.hidden, eps=1e-6)
        wide = shape.hidden * shape.merge**2
        self.linear_fc1 = nn.Linear(wide, wide)
        self.linear_fc2 = nn.Linear(wide, out)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x).unflatten(1, (-1, 4)).flatten(2)
        return self.linear_fc2(functional.gelu(self.linear_fc1(x)))


class PatchEmbed(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        size = (2, shape.patch, shape.patch)
        self.proj = nn.Conv3d(3, shape.hidden, size, stride=size)

    def forward(self, patches: Tensor) -> Tensor:
        """`patches` is [..., 3 * patch * patch]; a still picture fills both frames of the kernel."""
        weight = self.proj.weight.sum(2).flatten(1)
        return functional.linear(patches, weight, self.proj.bias)


class Tower(nn.Module):
    def __init__(self, shape: VisionShape, out: int) -> None:
        super().__init__()
        self.shape = shape
        self.patch_embed = PatchEmbed(shape)
        self.pos_embed = nn.Embedding(shape.grid**2, shape.hidden)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.depth))
        self.merger = Merger(shape, out)

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels [pictures, height, width, 3] of bytes become tokens [pictures, cells, out], row by row."""
        height, width = pixels.shape[1] // self.shape.patch, pixels.shape[2] // self.shape.patch
        x = self.patch_embed(patches(pixels, self.shape.patch)) + self._positions(height, width)
        rotary = self._rotary(height, width, pixels.device)
        for block in self.blocks:
            x = block(x, rotary)
        return self.merger(x)

    def _positions(self, height: int, width: int) -> Tensor:
        """The learned square grid, stretched over the picture's own (bilinear, corners aligned)."""
        side = self.shape.grid
        grid = self.pos_embed.weight.view(side, side, -1).permute(2, 0, 1)[None]
        stretched = functional.interpolate(grid.float(), (height, width), mode="bilinear", align_corners=True)
        return in_cells(stretched[0].permute(1, 2, 0)).flatten(0, 1)

    def _rotary(self, height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
        half = self.shape.hidden // self.shape.heads // 2
        speeds = 1.0 / (10000.0 ** (torch.arange(0, half, 2, device=device).float() / half))
        rows = torch.arange(height, device=device)[:, None].expand(height, width)
        columns = torch.arange(width, device=device)[None].expand(height, width)
        where = in_cells(torch.stack((rows, columns), -1)).flatten(0, 1)
        angles = (where[..., None] * speeds).flatten(1)
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()


def in_cells(grid: Tensor) -> Tensor:
    """[height, width, n] in the order of the merger: cells of 2 x 2 patches, row by row: [cells, 4, n]."""
    height, width, size = grid.shape
    cells = grid.view(height // 2, 2, width // 2, 2, size).permute(0, 2, 1, 3, 4)
    return cells.reshape(-1, 4, size)


def patches(pixels: Tensor, patch: int) -> Tensor:
    """Bytes [n, height, width, 3] as normalized patches [n, patches, 3 * patch * patch], cells of four together."""
    count, height, width, _ = pixels.shape
    rows, columns = height // patch // 2, width // patch // 2
    cells = pixels.view(count, rows, 2, patch, columns, 2, patch, 3).permute(0, 1, 4, 2, 5, 7, 3, 6)
    return cells.reshape(count, rows * columns * 4, 3 * patch * patch).float().div(127.5).sub(1.0)
