"""What one rank holds of each tensor under tensor parallelism, as vLLM splits, replicates, pads or drops it.

Sources (0.33): `model_executor/layers/linear.py` (column, row, QKV), `vocab_parallel_embedding.py` (padding to 64),
`layers/mamba/gdn/qwen_gdn_linear_attn.py`, `layers/fused_moe/layer.py`, `models/qwen3_vl.py`, `models/qwen2_5_vl.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from fitserve.facts.model import ModelFacts, QuantFormat, Quantization
from fitserve.facts.tensors import Tensor
from fitserve.facts.weights import ModuleGroup, WeightGroup, group_weights
from fitserve.plan.kv import ceil_div
from fitserve.text import tr

VOCAB_PADDING = 64


class Split(Enum):
    """How a module's tensors are shared out."""

    COLUMN = "column"  # outputs split
    ROW = "row"  # inputs split; the bias is whole on every rank
    KEY_VALUE = "key_value"  # outputs split by KV head, heads replicated when there are more ranks
    VOCAB = "vocab"
    WHOLE = "whole"  # on every rank
    DROPPED = "dropped"


@dataclass(frozen=True)
class Sharding:
    """The settings that decide who holds what."""

    ranks: int = 1
    vision: bool = True
    vision_data_mode: bool = False
    drafts: bool = False  # speculative decoding loads the MTP layer
    columns_per_scale: int = 1  # Marlin repeats an FP8 block's scale for each of its columns


_ROW = {"o_proj", "down_proj", "out_proj", "proj", "linear_fc2", "fc2", "w2", "c_proj"}
_COLUMN = {
    "q_proj", "gate_proj", "up_proj", "gate_up_proj", "in_proj_qkv", "in_proj_z", "in_proj_qkvz", "in_proj_a",
    "in_proj_b", "in_proj_ba", "conv1d", "A_log", "dt_bias", "qkv", "linear_fc1", "fc1", "w1", "w3", "qkv_proj",
}  # fmt: skip
_KEY_VALUE = {"k_proj", "v_proj"}
_VISION_WHOLE = ("patch_embed", "pos_embed")
_NO_FLOAT32_CAST = {"A_log", "norm"}  # kept in float32 whatever the checkpoint's dtype


def rank_bytes(
    model: ModelFacts, sharding: Sharding, groups: tuple[WeightGroup, ...] | None = None
) -> dict[ModuleGroup, int]:
    """Bytes of one rank by module group. Every rank holds the same."""
    found: dict[ModuleGroup, int] = {}
    for group in group_weights(model) if groups is None else groups:
        held = _group_bytes(model, group, sharding)
        if held:
            found[group.group] = found.get(group.group, 0) + held
    return found


def _group_bytes(model: ModelFacts, group: WeightGroup, sharding: Sharding) -> int:
    split = split_of(model, group, sharding)
    if split is Split.DROPPED:
        return 0
    return sum(
        count * tensor_bytes(model, group, tensor, split, sharding.ranks) * scale_copies(tensor, sharding)
        for tensor, count in group.kinds
    )


def scale_copies(tensor: Tensor, sharding: Sharding) -> int:
    """1, and for the scales of FP8 blocks under Marlin as many as a block has columns (marlin_utils_fp8.py)."""
    named = tensor.name.rpartition(".")[2] in ("weight_scale", "weight_scale_inv")
    blocks = named and len(tensor.shape) > 1 and tensor.shape[-1] > 1
    return sharding.columns_per_scale if blocks else 1


def split_of(model: ModelFacts, group: WeightGroup, sharding: Sharding) -> Split:
    """How vLLM shares out the tensors of one module."""
    if group.group is ModuleGroup.MTP:
        return _by_name(group.module_kind.rpartition(".")[2]) if sharding.drafts else Split.DROPPED
    if group.group is ModuleGroup.VISION:
        return _vision_split(model, group.module_kind, sharding)
    if group.group in (ModuleGroup.EMBED, ModuleGroup.LM_HEAD):
        tied = group.group is ModuleGroup.LM_HEAD and model.tied_embeddings
        return Split.DROPPED if tied else Split.VOCAB
    if group.group in (ModuleGroup.ROUTER, ModuleGroup.NORMS):
        return Split.WHOLE
    if group.module_kind in ("in_proj_a", "in_proj_b", "in_proj_ba") and model.quantization.format in (
        QuantFormat.AWQ,
        QuantFormat.GPTQ,
        QuantFormat.AUTOROUND,
    ):
        return Split.WHOLE
    return _by_name(group.module_kind)


def _by_name(kind: str) -> Split:
    if kind in _KEY_VALUE:
        return Split.KEY_VALUE
    if kind in _ROW:
        return Split.ROW
    return Split.COLUMN if kind in _COLUMN else Split.WHOLE


def _vision_split(model: ModelFacts, kind: str, sharding: Sharding) -> Split:
    """The tower's blocks and mergers are split, unless in data mode or when the heads can't be shared out."""
    if not sharding.vision:
        return Split.DROPPED
    heads = model.vision.heads if model.vision else 0
    if sharding.vision_data_mode or not heads or heads % sharding.ranks or kind.startswith(_VISION_WHOLE):
        return Split.WHOLE
    if kind == "merger.mlp.0":  # Qwen2-VL and Qwen2.5-VL number their merger's layers
        return Split.COLUMN
    if kind == "merger.mlp.2":
        return Split.ROW
    return _by_name(kind.rpartition(".")[2])


def tensor_bytes(model: ModelFacts, group: WeightGroup, tensor: Tensor, split: Split, ranks: int) -> int:
    """Bytes of one tensor on one rank."""
    parameter = tensor.name.rpartition(".")[2]
    if not stays(model, group, parameter):
        return 0
    size = loaded_bytes(model, group, tensor, parameter)
    if split is Split.VOCAB and vocab_split(parameter, tensor.shape):
        return vocab_bytes(model.vocab, parameter, tensor.shape, size) // ranks
    if ranks == 1 or split in (Split.WHOLE, Split.VOCAB) or whole_parameter(parameter, tensor.shape, split):
        return size
    if split is Split.KEY_VALUE:
        heads = model.attention.kv_heads if model.attention else ranks
        return size * max(1, heads // ranks) // heads
    return ceil_div(size, ranks)


_VOCAB_LAST = ("qweight", "scales", "qzeros")  # GPTQ and AutoAWQ write inputs first; qzeros and AWQ pack the outputs


def vocab_split(parameter: str, shape: tuple[int, ...]) -> bool:
    """Whether a head's or a table's parameter has the vocabulary for an axis: not single numbers, not input indices."""
    return bool(shape) and shape != (1,) and parameter not in ("g_idx", "weight_g_idx", "weight_shape")


def vocab_bytes(vocab: int | None, parameter: str, shape: tuple[int, ...], size: int) -> int:
    """Bytes with the vocabulary's axis padded to 64."""
    rows = (vocab or shape[-1]) if parameter in _VOCAB_LAST else shape[0]
    return ceil_div(rows, VOCAB_PADDING) * VOCAB_PADDING * size // max(rows, 1)


def whole_parameter(parameter: str, shape: tuple[int, ...], split: Split) -> bool:
    """Parameters that are not split with their module: a row module's bias, scales without groups, single numbers."""
    if len(shape) == 0 or shape == (1,) or parameter == "weight_shape" or "global_scale" in parameter:
        return True
    if split is Split.ROW:
        return parameter == "bias" or (parameter.startswith("weight_scale") and shape[-1] == 1)
    return parameter in ("g_idx", "weight_g_idx")


def stays(model: ModelFacts, group: WeightGroup, parameter: str) -> bool:
    """Whether a parameter is still there after loading: Marlin drops what it does not read.

    GPTQ without act-order gives `g_idx` back, and a symmetric one the zero points of its linears; those of the experts
    stay (20.27 GiB were logged for the official GPTQ of the lead model on 0.30, text only, which needs them).
    """
    quant = model.quantization
    if quant.format not in (QuantFormat.GPTQ, QuantFormat.AUTOROUND):
        return True
    if parameter == "g_idx":
        return bool(quant.raw.get("desc_act"))
    return not (parameter == "qzeros" and quant.symmetric and group.group is not ModuleGroup.EXPERTS)


def loaded_bytes(model: ModelFacts, group: WeightGroup, tensor: Tensor, parameter: str) -> int:
    """Bytes after the cast to the model's dtype: plain float32 weights of a 16-bit model take half."""
    plain = parameter in ("weight", "bias") and tensor.dtype == "F32" and group.module_kind not in _NO_FLOAT32_CAST
    return tensor.size_bytes // 2 if plain and model.dtype in ("bfloat16", "float16") else tensor.size_bytes


def weight_bytes(model: ModelFacts, sharding: Sharding) -> int:
    """All weights of one rank, exact from the headers."""
    return sum(rank_bytes(model, sharding).values())


def undivided(model: ModelFacts, ranks: int) -> Iterable[tuple[str, int]]:
    """What `ranks` does not divide, as (name, count): vLLM refuses such a start."""
    attention, linear = model.attention, model.linear_attention
    if attention:
        yield from _unless_divides(tr("plan.part_attention"), attention.query_heads, ranks)
        if attention.kv_heads % ranks and ranks % attention.kv_heads:
            yield (tr("plan.part_kv"), attention.kv_heads)
    if linear:
        yield from _unless_divides(tr("plan.part_linear_keys"), linear.key_heads, ranks)
        yield from _unless_divides(tr("plan.part_linear_values"), linear.value_heads, ranks)
    if model.experts:
        yield from _unless_divides(tr("plan.part_experts"), model.experts.width, ranks)
    elif model.intermediate:
        yield from _unless_divides(tr("plan.part_mlp"), model.intermediate, ranks)


def _unless_divides(name: str, count: int, ranks: int) -> Iterable[tuple[str, int]]:
    if count % ranks:
        yield (name, count)


def crossing_groups(model: ModelFacts, ranks: int) -> list[str]:
    """Row-split inputs whose share is not a whole number of groups."""
    size = group_size(model.quantization)
    if not size:
        return []
    experts = model.experts
    name = tr("plan.part_experts" if experts else "plan.part_mlp")
    widths = {name: experts.width if experts else model.intermediate or 0}
    return [f"{name} {width}/{ranks} % {size}" for name, width in widths.items() if width // ranks % size]


def group_size(quantization: Quantization) -> int | None:
    """The largest group of the scheme, None for schemes without groups."""
    sizes = [group.group_size for group in quantization.groups if group.group_size and group.kind == "int"]
    return max(sizes, default=None) or quantization.group_size
