"""The modules of a model that is known only by its config, in checkpoint order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fitserve.facts.layout_names import Naming
from fitserve.facts.layout_tower import tower_modules
from fitserve.facts.model import LayerKind, ModelFacts


@dataclass(frozen=True)
class Linear:
    """A matrix product that a quantizer may have taken: `rows` outputs from `columns` inputs."""

    name: str
    rows: int
    columns: int
    bias: bool = False


@dataclass(frozen=True)
class ExpertSet:
    """All experts of a layer; their three matrices are named experts.N.gate_proj and so on."""

    name: str
    count: int
    width: int
    hidden: int


@dataclass(frozen=True)
class Plain:
    """A tensor that no quantizer touches."""

    name: str
    shape: tuple[int, ...]
    dtype: str = ""  # the model's own where empty


Module = Linear | ExpertSet | Plain


def modules(model: ModelFacts, naming: Naming) -> Iterator[Module]:
    """Every module with its shape. Needs hidden, vocab, layers and attention of the facts."""
    hidden, vocab = model.hidden or 0, model.vocab or 0
    yield Plain(f"{naming.language}embed_tokens.weight", (vocab, hidden))
    for index, kind in enumerate(model.layers):
        yield from _layer(model, naming, f"{naming.language}layers.{index}.", kind, index)
    yield Plain(f"{naming.language}norm.weight", (hidden,))
    if not model.tied_embeddings:
        yield Linear("lm_head", vocab, hidden)
    if model.vision:
        for name, shape, is_linear in tower_modules(model.vision, naming):
            yield Linear(name, shape[0], shape[1], bias=True) if is_linear else Plain(name, shape)
    if naming.mtp and model.mtp_layers:
        yield from _mtp(model, naming, hidden)


def _layer(model: ModelFacts, naming: Naming, prefix: str, kind: LayerKind, index: int) -> Iterator[Module]:
    hidden = model.hidden or 0
    yield Plain(f"{prefix}input_layernorm.weight", (hidden,))
    yield Plain(f"{prefix}post_attention_layernorm.weight", (hidden,))
    if kind is LayerKind.LINEAR_ATTENTION:
        yield from _delta_net(model, naming, f"{prefix}linear_attn.")
    else:
        yield from _attention(model, naming, f"{prefix}self_attn.")
    sparse = model.experts is not None and index not in model.experts.dense_layers
    yield from _experts(model, f"{prefix}mlp.") if sparse else _dense(f"{prefix}mlp.", model.intermediate or 0, hidden)


def _attention(model: ModelFacts, naming: Naming, prefix: str) -> Iterator[Module]:
    heads, hidden = model.attention, model.hidden or 0
    assert heads is not None
    width = heads.query_heads * heads.head_dim
    kv = heads.kv_heads * heads.head_dim
    yield Linear(f"{prefix}q_proj", width * (2 if heads.output_gate else 1), hidden, naming.qkv_bias)
    yield Linear(f"{prefix}k_proj", kv, hidden, naming.qkv_bias)
    yield Linear(f"{prefix}v_proj", kv, hidden, naming.qkv_bias)
    yield Linear(f"{prefix}o_proj", hidden, width)
    if naming.qk_norm:
        yield Plain(f"{prefix}q_norm.weight", (heads.head_dim,))
        yield Plain(f"{prefix}k_norm.weight", (heads.head_dim,))


def _delta_net(model: ModelFacts, naming: Naming, prefix: str) -> Iterator[Module]:
    net, hidden = model.linear_attention, model.hidden or 0
    assert net is not None
    values = net.value_heads * net.value_dim
    channels = 2 * net.key_heads * net.key_dim + values
    if naming.joint_delta_net:
        yield Linear(f"{prefix}in_proj_qkvz", channels + values, hidden)
        yield Linear(f"{prefix}in_proj_ba", 2 * net.value_heads, hidden)
    else:
        yield Linear(f"{prefix}in_proj_qkv", channels, hidden)
        yield Linear(f"{prefix}in_proj_z", values, hidden)
        yield Linear(f"{prefix}in_proj_a", net.value_heads, hidden)
        yield Linear(f"{prefix}in_proj_b", net.value_heads, hidden)
    yield Linear(f"{prefix}out_proj", hidden, values)
    yield Plain(f"{prefix}conv1d.weight", (channels, 1, net.conv_kernel))
    yield Plain(f"{prefix}A_log", (net.value_heads,))
    yield Plain(f"{prefix}dt_bias", (net.value_heads,))
    yield Plain(f"{prefix}norm.weight", (net.value_dim,))


def _experts(model: ModelFacts, prefix: str) -> Iterator[Module]:
    experts, hidden = model.experts, model.hidden or 0
    assert experts is not None
    yield ExpertSet(f"{prefix}experts", experts.count, experts.width, hidden)
    yield Plain(f"{prefix}gate.weight", (experts.count, hidden))
    if experts.shared_width:
        yield Linear(f"{prefix}shared_expert_gate", 1, hidden)
        yield from _dense(f"{prefix}shared_expert.", experts.shared_width, hidden)


def _dense(prefix: str, width: int, hidden: int) -> Iterator[Module]:
    yield Linear(f"{prefix}gate_proj", width, hidden)
    yield Linear(f"{prefix}up_proj", width, hidden)
    yield Linear(f"{prefix}down_proj", hidden, width)


def _mtp(model: ModelFacts, naming: Naming, hidden: int) -> Iterator[Module]:
    yield Linear("mtp.fc", hidden, 2 * hidden)
    for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
        yield Plain(f"mtp.{name}.weight", (hidden,))
    for index in range(model.mtp_layers):
        yield from _layer(model, naming, f"mtp.layers.{index}.", LayerKind.FULL_ATTENTION, -1)
