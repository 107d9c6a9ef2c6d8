"""From model facts to what one rank keeps of a sequence: bytes a token and bytes of a recurrent state."""

from __future__ import annotations

from fitserve.facts.model import Attention, LayerKind, LinearAttention, ModelFacts
from fitserve.plan.kv import CacheShape

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4}


def cache_shape(model: ModelFacts, ranks: int, kv_cache_dtype: str, speculative_tokens: int = 0) -> CacheShape | None:
    """The shape for one of `ranks`, or None where the architecture's cache is not known."""
    attention, linear = model.attention, model.linear_attention
    if attention is None or not model.layers or LayerKind.UNKNOWN in model.layers:
        return None
    states = model.count(LayerKind.LINEAR_ATTENTION)
    if states and linear is None:
        return None
    token = token_bytes(attention, ranks, kv_cache_dtype, model.dtype)
    if token is None:
        return None
    drafts = model.mtp_layers if speculative_tokens else 0
    return CacheShape(
        full_layers=model.count(LayerKind.FULL_ATTENTION) + drafts,
        sliding_layers=model.count(LayerKind.SLIDING_ATTENTION),
        state_layers=states,
        token_bytes=token,
        state_bytes=state_bytes(linear, ranks, model.dtype, speculative_tokens) if linear and states else 0,
        window=model.sliding_window or 0,
    )


def token_bytes(attention: Attention, ranks: int, kv_cache_dtype: str, model_dtype: str) -> int | None:
    """Keys and values of one token in one layer. KV heads are replicated when there are more ranks than heads."""
    heads = max(1, attention.kv_heads // ranks)
    head = head_bytes(attention.head_dim, kv_cache_dtype, model_dtype)
    return None if head is None else 2 * heads * head


def head_bytes(head_dim: int, kv_cache_dtype: str, model_dtype: str) -> int | None:
    """Bytes of one head's vector: `auto` is the model's dtype; quantized caches carry their scales beside them."""
    name = model_dtype if kv_cache_dtype == "auto" else kv_cache_dtype
    name = name.removeprefix("torch.")
    if name.startswith("fp8"):
        return head_dim
    if name == "int8_per_token_head":
        return head_dim + 4  # one float32 scale a token and head
    if name == "nvfp4":
        return head_dim // 2 + head_dim // 16  # two values a byte, one fp8 scale for sixteen
    item = ITEM_BYTES.get(name)
    return None if item is None else head_dim * item


def state_bytes(linear: LinearAttention, ranks: int, model_dtype: str, speculative_tokens: int = 0) -> int:
    """One sequence's state in one layer: the convolution's tail and the recurrent matrix (`mamba_utils.py`)."""
    channels = (2 * linear.key_heads * linear.key_dim + linear.value_heads * linear.value_dim) // ranks
    tail = (linear.conv_kernel - 1 + speculative_tokens) * channels * ITEM_BYTES.get(model_dtype, 2)
    matrix = linear.value_heads // ranks * linear.value_dim * linear.key_dim
    return tail + matrix * ITEM_BYTES.get(linear.state_dtype, 4)
