"""The two token mixers of Qwen3.5: gated delta net and gated full attention."""

import torch
from quantized import Int4Linear
from shape import TextShape
from torch import Tensor, nn
from torch.nn import functional
from tower import turned

CHUNK = 64


class GatedNorm(nn.Module):
    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return functional.rms_norm(x.float(), x.shape[-1:], self.weight, self.epsilon) * functional.silu(gate.float())


class GatedDeltaNet(nn.Module):
    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        self.shape = shape
        heads, inner = shape.gdn_value_heads, 2 * shape.key_dim + shape.value_dim
        self.in_proj_qkv = nn.Linear(shape.hidden, inner, bias=False)
        self.in_proj_z = nn.Linear(shape.hidden, shape.value_dim, bias=False)
        self.in_proj_b = nn.Linear(shape.hidden, heads, bias=False)
        self.in_proj_a = nn.Linear(shape.hidden, heads, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, shape.conv_kernel, groups=inner, bias=False)
        self.dt_bias = nn.Parameter(torch.ones(heads))
        self.A_log = nn.Parameter(torch.zeros(heads))
        self.norm = GatedNorm(shape.gdn_head_dim, shape.epsilon)
        self.out_proj = nn.Linear(shape.value_dim, shape.hidden, bias=False)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        """`x` is [rows, tokens, hidden]; padding stands at the end of a row, where it disturbs nothing."""
        del rotary
        shape, tokens = self.shape, x.shape[1]
        mixed = functional.pad(self.in_proj_qkv(x).transpose(1, 2), (shape.conv_kernel - 1, 0))
        mixed = functional.silu(self.conv1d(mixed)).transpose(1, 2)
        query, key, value = mixed.split((shape.key_dim, shape.key_dim, shape.value_dim), dim=-1)
        query, key, value = (part.unflatten(-1, (-1, shape.gdn_head_dim)).float() for part in (query, key, value))
        beta = self.in_proj_b(x).float().sigmoid()
        decay = -self.A_log.exp() * functional.softplus(self.in_proj_a(x).float() + self.dt_bias)
        with torch.autocast(x.device.type, enabled=False):
            mixed = delta_rule(_unit(query), _unit(key), value, decay, beta)[:, :tokens]
        gate = self.in_proj_z(x).unflatten(-1, (-1, shape.gdn_head_dim))
        return self.out_proj(self.norm(mixed, gate).flatten(2))


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def delta_rule(query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor) -> Tensor:
    """The gated delta rule in chunks; all [rows, tokens, heads(, size)] in float32. The result is padded to chunks.

    Within a chunk the updates are solved at once: (I + L) x = b with L strictly lower triangular. (Inverting by
    repeated squaring is quicker and wrong: where a picture's cells look alike, the powers of L drown the result.)
    """
    query = query * query.shape[-1] ** -0.5
    query, key, value = (_chunks(part) for part in (query, key, value))
    decay, beta = (_chunks(part[..., None])[..., 0] for part in (decay, beta))
    total = decay.cumsum(-1)
    between = (total[..., :, None] - total[..., None, :]).tril().exp().tril()
    weighted = key * beta[..., None]
    lower = ((weighted @ key.transpose(-1, -2)) * between).tril(-1)
    wanted = torch.cat((value * beta[..., None], weighted * total.exp()[..., None]), -1)
    solved = torch.linalg.solve_triangular(lower, wanted, upper=False, unitriangular=True)
    fresh, erased = solved.split((value.shape[-1], key.shape[-1]), -1)
    within = (query @ key.transpose(-1, -2)) * between
    arriving = query * total.exp()[..., None]
    leaving = key * (total[..., -1:] - total).exp()[..., None]
    return _carry(fresh, erased, within, arriving, leaving, total[..., -1].exp())


def _chunks(x: Tensor) -> Tensor:
    """[rows, tokens, heads, size] to [rows, heads, chunks, CHUNK, size], zeros at the end."""
    x = functional.pad(x, (0, 0, 0, 0, 0, -x.shape[1] % CHUNK))
    return x.unflatten(1, (-1, CHUNK)).permute(0, 3, 1, 2, 4)


def _carry(fresh: Tensor, erased: Tensor, within: Tensor, arriving: Tensor, leaving: Tensor, kept: Tensor) -> Tensor:
    """Carry the state from chunk to chunk; returns [rows, tokens, heads, size]."""
    state = fresh.new_zeros(*fresh.shape[:2], leaving.shape[-1], fresh.shape[-1])
    outputs = []
    parts = (part.unbind(2) for part in (fresh, erased, within, arriving, leaving, kept))
    for new, old, inside, asked, left, share in zip(*parts, strict=True):
        updates = new - old @ state
        outputs.append(asked @ state + inside @ updates)
        state = state * share[..., None, None] + left.transpose(-1, -2) @ updates
    return torch.stack(outputs, 2).flatten(2, 3).transpose(1, 2)


class ZeroCentredNorm(nn.Module):
    """RMS norm whose weight is stored as the distance from one."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x.float(), x.shape[-1:], 1.0 + self.weight, self.epsilon).to(x.dtype)


class FullAttention(nn.Module):
    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        self.shape = shape
        size = shape.head_dim
        self.q_proj = Int4Linear(shape.hidden, shape.heads * size * 2)
        self.k_proj = Int4Linear(shape.hidden, shape.kv_heads * size)
        self.v_proj = Int4Linear(shape.hidden, shape.kv_heads * size)
        self.o_proj = Int4Linear(shape.heads * size, shape.hidden)
        self.q_norm = ZeroCentredNorm(size, shape.epsilon)
        self.k_norm = ZeroCentredNorm(size, shape.epsilon)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        size = self.shape.head_dim
        query, gate = self.q_proj(x).unflatten(-1, (-1, 2 * size)).chunk(2, dim=-1)
        query, key = self.q_norm(query), self.k_norm(self.k_proj(x).unflatten(-1, (-1, size)))
        value = self.v_proj(x).unflatten(-1, (-1, size))
        query, key = (_partly_turned(part.transpose(1, 2), *rotary) for part in (query, key))
        share = self.shape.heads // self.shape.kv_heads
        key, value = key.repeat_interleave(share, 1), value.transpose(1, 2).repeat_interleave(share, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2) * torch.sigmoid(gate.flatten(2)))


def _partly_turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    size = cos.shape[-1]
    return torch.cat((turned(x[..., :size], cos, sin).to(x.dtype), x[..., size:]), dim=-1)
