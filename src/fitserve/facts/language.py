"""The language model of a config: layers by kind, heads, recurrent state, experts."""

from __future__ import annotations

from fitserve.errors import FitserveError
from fitserve.facts.config import EXPERTS_LIMIT, LAYERS_LIMIT, Table, broken
from fitserve.facts.families import Family
from fitserve.facts.model import Attention, Experts, LayerKind, LinearAttention

_KINDS = {
    "full_attention": LayerKind.FULL_ATTENTION,
    "attention": LayerKind.FULL_ATTENTION,
    "sliding_attention": LayerKind.SLIDING_ATTENTION,
    "linear_attention": LayerKind.LINEAR_ATTENTION,
}


def layer_kinds(text: Table, family: Family | None) -> tuple[LayerKind, ...]:
    """One kind per layer. All UNKNOWN for an architecture outside the families: its cache may be of another make."""
    count = text.count("num_hidden_layers", "n_layer", "num_layers", most=LAYERS_LIMIT)
    named = text.names("layer_types")
    if count is None or (named and len(named) != count):
        if not named:
            return ()
        raise _differ(text, "layer_types", len(named), "num_hidden_layers", count or 0)
    if family is None:
        return (LayerKind.UNKNOWN,) * count
    if named:
        return tuple(_KINDS.get(name, LayerKind.UNKNOWN) for name in named)
    return _hybrid(text, count) if family.hybrid else _windowed(text, family, count)


def _hybrid(text: Table, count: int) -> tuple[LayerKind, ...]:
    interval = text.count("full_attention_interval") or 4
    return tuple(
        LayerKind.LINEAR_ATTENTION if (layer + 1) % interval else LayerKind.FULL_ATTENTION for layer in range(count)
    )


def _windowed(text: Table, family: Family, count: int) -> tuple[LayerKind, ...]:
    if sliding_window(text, family) is None:
        return (LayerKind.FULL_ATTENTION,) * count
    first = 0 if family.always_sliding else text.count("max_window_layers", least=0) or 0
    return tuple(LayerKind.SLIDING_ATTENTION if layer >= first else LayerKind.FULL_ATTENTION for layer in range(count))


def sliding_window(text: Table, family: Family | None) -> int | None:
    """The window in tokens where one is in force."""
    switched_on = text.flag("use_sliding_window")
    if switched_on is None:
        switched_on = "sliding_attention" in text.names("layer_types") or bool(family and family.always_sliding)
    return text.count("sliding_window", least=0) or None if switched_on else None


def attention(text: Table, family: Family | None) -> Attention | None:
    """Heads of the full-attention layers, before any sharding."""
    heads = text.count("num_attention_heads", "n_head")
    if heads is None:
        return None
    kv_heads = text.count("num_key_value_heads") or heads
    if heads % kv_heads:
        raise _differ(text, "num_attention_heads", heads, "num_key_value_heads", kv_heads)
    head_dim = _head_dim(text, family, heads)
    if head_dim is None:
        return None
    gate = text.flag("attn_output_gate")
    return Attention(heads, kv_heads, head_dim, bool(family and family.gated) if gate is None else gate)


def _head_dim(text: Table, family: Family | None, heads: int) -> int | None:
    stated = text.count("head_dim") or (family.head_dim if family else None)
    hidden = text.count("hidden_size", "n_embd")
    return stated or (hidden // heads or None if hidden else None)


def rotary_dim(text: Table, family: Family | None, heads: Attention | None) -> int | None:
    """How many numbers of a head are rotated by position."""
    if heads is None or family is None:
        return None
    rope = text.table("rope_parameters", "rope_scaling")
    share = rope.number("partial_rotary_factor") or text.number("partial_rotary_factor") or family.rotary
    return int(heads.head_dim * share)


def linear_attention(text: Table, dtype: str) -> LinearAttention | None:
    """The gated delta net of hybrid models; None where the config has none."""
    key_heads, value_heads = text.count("linear_num_key_heads"), text.count("linear_num_value_heads")
    key_dim, value_dim = text.count("linear_key_head_dim"), text.count("linear_value_head_dim")
    kernel = text.count("linear_conv_kernel_dim")
    if not (key_heads and value_heads and key_dim and value_dim and kernel):
        return None
    # "auto" in vLLM: the config's mamba_ssm_dtype (Qwen3.5), else the model's own type (Qwen3-Next).
    state_dtype = text.text("mamba_ssm_dtype") or dtype
    return LinearAttention(key_heads, value_heads, key_dim, value_dim, kernel, state_dtype)


def experts(text: Table, layers: int) -> Experts | None:
    """Mixture of experts, with the layers that stay dense."""
    count = text.count("num_experts", "n_routed_experts", "num_local_experts", least=0, most=EXPERTS_LIMIT)
    if not count or count == 1:
        return None
    width = text.count("moe_intermediate_size", "intermediate_size") or 0
    shared = text.count("shared_expert_intermediate_size", least=0)
    if shared is None:
        shared = (text.count("n_shared_experts", least=0) or 0) * width
    step = text.count("decoder_sparse_step") or 1
    dense = set(text.counts("mlp_only_layers")) | {layer for layer in range(layers) if (layer + 1) % step}
    per_token = text.count("num_experts_per_tok", "moe_top_k", "top_k_experts") or 0
    return Experts(count, per_token, width, shared, tuple(sorted(dense)))


def _differ(text: Table, name: str, value: int, other: str, other_value: int) -> FitserveError:
    return broken("facts.contradiction", text.place, name=name, value=value, other=other, other_value=other_value)
