"""Model facts: what a checkpoint is, read from its config and its safetensors headers, never from its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fitserve.facts.tensors import Tensor as Tensor
from fitserve.facts.tensors import folds_of


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
    dense_layers: tuple[int, ...] = ()  # layers with an ordinary MLP in place of experts


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
    temporal_patch: int = 2
    positions: int | None = None  # rows of the learned position table; None where positions are computed
    deepstack: tuple[int, ...] = ()  # blocks whose output is also fed to the language model
    window: int | None = None  # pixels a side of windowed attention (Qwen2.5-VL)
    full_blocks: tuple[int, ...] = ()  # blocks without the window
    max_video_pixels: int | None = None  # of a whole clip
    limits_assumed: bool = False  # the folder says nothing: the family's published limits

    def tokens(self, width: int, height: int) -> int:
        """Tokens that a picture of this size (already within the limits) costs, without the two marks around it."""
        cell = self.patch * self.merge
        return max(1, round(width / cell)) * max(1, round(height / cell))


@dataclass(frozen=True)
class QuantGroup:
    """One scheme of a checkpoint that may mix several (compressed-tensors' config_groups)."""

    name: str
    bits: int | None
    kind: str  # "int" or "float"
    strategy: str  # group, channel, tensor, block, tensor_group ...
    group_size: int | None
    symmetric: bool | None
    packing: str = ""
    targets: tuple[str, ...] = ()
    activation_bits: int | None = None
    act_order: str = ""  # "", static, weight, group, dynamic


@dataclass(frozen=True)
class Quantization:
    """How the weights are stored. Where groups differ, `bits`, `group_size` and `symmetric` are None: see `groups`."""

    format: QuantFormat
    bits: int | None = None
    group_size: int | None = None  # None: per channel or per tensor
    symmetric: bool | None = None
    packing: str = ""  # compressed-tensors' own name: pack-quantized, float-quantized ...
    targets: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()  # modules left as they were: names, or patterns as the dialect writes them
    groups: tuple[QuantGroup, ...] = ()
    method: str = ""  # quant_method as the config says it
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
    tensors: Sequence[Tensor]  # kept folded where they are many: see facts/tensors.py
    config: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # "layout inferred" and the like, sentences in the reader's language
    sliding_window: int | None = None  # tokens, where a layer is SLIDING_ATTENTION
    problems: tuple[str, ...] = ()  # damage: a missing, truncated or contradictory file, each a sentence
    layout_inferred: bool = False  # tensors derived from the config, no header was seen
    serving_problem: str = ""  # why vLLM can't serve this as it is; "" where no reason is known

    def count(self, kind: LayerKind) -> int:
        """How many language layers are of this kind."""
        return sum(layer is kind for layer in self.layers)

    @property
    def checkpoint_bytes(self) -> int:
        """Bytes of all tensors on disk."""
        return sum(fold.size_bytes for fold in folds_of(self.tensors))
