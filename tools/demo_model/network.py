"""The whole model, trained in float32 (bfloat16 products on a GPU); parameter names are the checkpoint's."""

from math import log

import torch
from mixers import FullAttention, GatedDeltaNet, ZeroCentredNorm
from quantized import Int4Linear
from shape import Shape, TextShape
from torch import Tensor, nn
from torch.nn import functional
from tower import Tower

EMBEDDING_SCALE = 0.2  # of a fresh token embedding; the tower's last layer is set to speak as loudly


def _product_type(weight: Tensor) -> torch.dtype:
    return torch.bfloat16 if torch.is_autocast_enabled(weight.device.type) else weight.dtype


class Mlp(nn.Module):
    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        self.gate_proj = Int4Linear(shape.hidden, shape.intermediate)
        self.up_proj = Int4Linear(shape.hidden, shape.intermediate)
        self.down_proj = Int4Linear(shape.intermediate, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: TextShape, kind: str) -> None:
        super().__init__()
        if kind == "linear_attention":
            self.linear_attn = GatedDeltaNet(shape)
        else:
            self.self_attn = FullAttention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = ZeroCentredNorm(shape.hidden, shape.epsilon)
        self.post_attention_layernorm = ZeroCentredNorm(shape.hidden, shape.epsilon)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        mixer = self.linear_attn if hasattr(self, "linear_attn") else self.self_attn
        x = x + mixer(self.input_layernorm(x), rotary)
        return x + self.mlp(self.post_attention_layernorm(x))


class LanguageModel(nn.Module):
    def __init__(self, shape: TextShape, vocabulary: int) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, kind) for kind in shape.layer_types)
        self.norm = ZeroCentredNorm(shape.hidden, shape.epsilon)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """`x` [rows, tokens, hidden]; `positions` [3, rows, tokens] (time, row, column)."""
        rotary = self._rotary(positions)
        for layer in self.layers:
            x = layer(x, rotary)
        return self.norm(x)

    def _rotary(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Angles whose frequencies take turns between time, row and column."""
        shape = self.shape
        size = int(shape.head_dim * shape.rotary_share)
        speeds = 1.0 / shape.rope_theta ** (torch.arange(0, size, 2, device=positions.device).float() / size)
        angles = positions[..., None].float() * speeds
        axis = torch.zeros(size // 2, dtype=torch.long, device=positions.device)
        for index in (1, 2):
            axis[index : shape.mrope_section[index] * 3 : 3] = index
        mixed = angles.gather(0, axis.expand(1, *angles.shape[1:]))[0]
        mixed = torch.cat((mixed, mixed), -1)[:, None]
        return mixed.cos(), mixed.sin()


class Model(nn.Module):
    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__()
        self.visual = Tower(shape.vision, shape.text.hidden)
        self.language_model = LanguageModel(shape.text, vocabulary)


class Network(nn.Module):
    """`model.` and `lm_head.` as the checkpoint names them."""

    def __init__(self, shape: Shape, vocabulary: int) -> None:
        super().__init__()
        self.shape = shape
        self.model = Model(shape, vocabulary)
        self.lm_head = nn.Linear(shape.text.hidden, vocabulary, bias=False)
        self._begin()

    def hidden(self, tokens: Tensor, positions: Tensor, pictures: Tensor, sources: Tensor, image_token: int) -> Tensor:
        """Last hidden states [rows, length, hidden].

        `pictures` [n, hidden] are all pictures' tokens; `sources` says which of them stands at each image token.
        """
        table = self.model.language_model.embed_tokens.weight
        said = functional.one_hot(tokens, len(table)).to(_product_type(table)) @ table
        shown = pictures.index_select(0, sources.flatten()).view(*tokens.shape, -1)
        x = torch.where((tokens == image_token)[..., None], shown.float(), said.float())
        return self.model.language_model(x, positions)

    def linears(self) -> dict[str, Int4Linear]:
        """The linears that ship in four bits, by name."""
        return {name: module for name, module in self.named_modules() if isinstance(module, Int4Linear)}

    def round_weights(self, share: float = 1.0) -> None:
        """How much of the way to their four bits the weights go when they are used: 0 not at all, 1 all of it."""
        for linear in self.linears().values():
            linear.rounded.fill_(share)

    @torch.no_grad()
    def _begin(self) -> None:
        depth = self.shape.text.layers
        for name, weight in self.named_parameters():
            if name.endswith("norm.weight") or "norm1" in name or "norm2" in name or "layernorm" in name:
                continue
            _fresh(name, weight, depth)


def _fresh(name: str, weight: Tensor, depth: int) -> None:
    """First values: unit variance kept by every linear, quieter where a layer adds to the stream."""
    if name.endswith("bias") and "dt_bias" not in name:
        nn.init.zeros_(weight)
    elif name.endswith("dt_bias"):
        step = torch.exp(torch.empty_like(weight).uniform_(log(0.002), log(0.2)))
        weight.copy_(step + torch.log(-torch.expm1(-step)))
    elif name.endswith("A_log"):
        nn.init.uniform_(weight, log(0.5), log(4.0))
    elif "embed" in name and "patch" not in name:
        nn.init.normal_(weight, std=EMBEDDING_SCALE)
    else:
        fan_in = weight[0].numel()
        quiet = (2 * depth) ** -0.5 if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")) else 1.0
        loud = 1.0 if "merger.linear_fc2" not in name else 2 * EMBEDDING_SCALE
        nn.init.normal_(weight, std=fan_in**-0.5 * quiet * loud * (0.3 if "lm_head" in name else 1.0))
