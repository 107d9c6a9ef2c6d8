"""Model facts: what a checkpoint is, read from its config and its safetensors headers, never from its weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class LayerKind(StrEnum):
    """What a language layer mixes tokens with."""

    FULL_ATTENTION = "full_attention"
    SLIDING_ATTENTION = "sliding_attention"
    LINEAR_ATTENTION = "linear_attention"  # gated delta net: a recurrent state in place of a KV cache
    UNKNOWN = "unknown"


class QuantFormat(StrEnum):
    """The dialects of quantized checkpoints that are told apart."""

    NONE = "none"
    COMPRESSED_TENSORS = "compressed-tensors"
    AWQ = "awq"
    GPTQ = "gptq"
    AUTOROUND = "auto-round"
    FP8 = "fp8"
    NVFP4 = "nvfp4"
    GGUF = "gguf"
    BITSANDBYTES = "bitsandbytes"
    OTHER = "other"


@dataclass(frozen=True)
class Tensor:
    """One tensor of a checkpoint as its header states it. `size_bytes` is what it takes on disk."""

    name: str
    dtype: str  # safetensors' names: BF16, F16, F32, I32, F8_E4M3, U8 ...
    shape: tuple[int, ...]
    size_bytes: int
    shard: str


@dataclass(frozen=True)
class Attention:
    """Full attention: heads of the whole model, before any sharding."""

    query_heads: int
    kv_heads: int
    head_dim: int
    output_gate: bool = False


@dataclass(frozen=True)
class LinearAttention:
    """A gated delta net: heads of the whole model; the state is kept per sequence."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int
    state_dtype: str  # mamba_ssm_dtype: "float32" or "bfloat16"


@dataclass(frozen=True)
class Experts:
    """Mixture of experts."""

    count: int
    per_token: int
    width: int
    shared_width: int = 0


@dataclass(frozen=True)
class Vision:
    """The vision tower and what its processor makes of a picture."""

    depth: int
    hidden: int
    heads: int
    patch: int  # pixels a side
    merge: int  # patches a side that become one token
    out_hidden: int
    intermediate: int
    min_pixels: int | None
    max_pixels: int | None

    def tokens(self, width: int, height: int) -> int:
        """Tokens that a picture of this size (already within the limits) costs, without the two marks around it."""
        cell = self.patch * self.merge
        return max(1, round(width / cell)) * max(1, round(height / cell))


@dataclass(frozen=True)
class Quantization:
    """How the weights are stored. `ignored` counts the modules left in 16 bit; `serving` says why vLLM can't, or ''."""

    format: QuantFormat
    bits: int | None = None
    group_size: int | None = None  # None: per channel or per tensor
    symmetric: bool | None = None
    packing: str = ""  # compressed-tensors' own name: pack-quantized, float-quantized ...
    targets: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    raw: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFacts:
    """Everything the plan needs to know of a model. None means unknown, never zero."""

    name: str
    source: str  # a folder, a hub id, or "known"
    architecture: str  # config's architectures[0]; "" where there is none
    model_type: str
    dtype: str
    hidden: int | None
    intermediate: int | None
    layers: tuple[LayerKind, ...]
    attention: Attention | None
    linear_attention: LinearAttention | None
    experts: Experts | None
    vision: Vision | None
    vocab: int | None
    tied_embeddings: bool | None
    max_positions: int | None
    rotary_dim: int | None
    mtp_layers: int
    quantization: Quantization
    tensors: tuple[Tensor, ...]
    config: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # "layout inferred" and the like, already in the reader's language keys

    def count(self, kind: LayerKind) -> int:
        """How many language layers are of this kind."""
        return sum(layer is kind for layer in self.layers)

    @property
    def checkpoint_bytes(self) -> int:
        """Bytes of all tensors on disk."""
        return sum(tensor.size_bytes for tensor in self.tensors)
