"""Linear layers that are trained as if their weights had four bits already, and the packed form they ship in."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from shape import GROUP_SIZE
from torch import Tensor, nn
from torch.nn import functional

PER_WORD = 8  # four-bit values in a 32-bit integer


class Int4Linear(nn.Linear):
    """A linear without bias; `rounded` (0 to 1) is how far weights are moved to the values that four bits can say."""

    rounded: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.register_buffer("rounded", torch.zeros(()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        away = (dequantize(*quantize(self.weight)) - self.weight).detach()
        return functional.linear(x, self.weight + self.rounded * away)


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers -8..7 [out, in], and scales [out, in / 32] as bfloat16 has them."""
    groups = weight.detach().float().unflatten(1, (-1, GROUP_SIZE))
    scale = (groups.abs().amax(-1) / 7.5).clamp_min(1e-6).bfloat16()
    whole = (groups / scale.float()[..., None]).round().clamp(-8, 7)
    return whole.flatten(1), scale


def dequantize(whole: Tensor, scale: Tensor) -> Tensor:
    return (whole.unflatten(1, (-1, GROUP_SIZE)) * scale.float()[..., None]).flatten(1)


def pack(whole: Tensor) -> Tensor:
    """Eight values a 32-bit integer along the inputs, lowest bits first, each stored with eight added."""
    nibbles = (whole.to(torch.int64) + 8).unflatten(1, (-1, PER_WORD))
    words = (nibbles << (4 * torch.arange(PER_WORD, device=whole.device))).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def unpack(words: Tensor) -> Tensor:
    """The whole numbers of packed words [out, in / 8]."""
    nibbles = (words.to(torch.int64)[..., None] >> (4 * torch.arange(PER_WORD))) & 15
    return (nibbles - 8).flatten(1)


def packed(name: str, weight: Tensor) -> dict[str, Tensor]:
    """The three tensors that compressed-tensors keeps for one linear."""
    return stored(name, *quantize(weight))


def stored(name: str, whole: Tensor, scale: Tensor) -> dict[str, Tensor]:
    return {
        f"{name}.weight_packed": pack(whole).contiguous(),
        f"{name}.weight_scale": scale.contiguous(),
        f"{name}.weight_shape": torch.tensor(whole.shape, dtype=torch.int64),
    }


def linears(shipped: dict[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """A checkpoint's four-bit linears by name: whole numbers and scales."""
    names = [name.removesuffix(".weight_packed") for name in shipped if name.endswith(".weight_packed")]
    return {name: (unpack(shipped[f"{name}.weight_packed"]), shipped[f"{name}.weight_scale"]) for name in names}


def weights(folder: Path) -> dict[str, Tensor]:
    """The shipped tensors in float32, four-bit linears unpacked."""
    shipped = load_file(folder / "model.safetensors")
    plain = {name: tensor.float() for name, tensor in shipped.items() if ".weight_" not in name}
    return plain | {f"{name}.weight": dequantize(*linear) for name, linear in linears(shipped).items()}
