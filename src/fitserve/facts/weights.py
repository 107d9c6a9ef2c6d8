"""Tensors by the module that loads them: what the plan shards, and what `inspect` adds up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from fitserve.facts.model import ModelFacts
from fitserve.facts.tensors import Fold, Tensor, folds_of


class ModuleGroup(StrEnum):
    """Parts of a model in the order in which a person reads them."""

    EMBED = "embed"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear_attention"
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERT = "shared_expert"
    ROUTER = "router"
    NORMS = "norms"
    LM_HEAD = "lm_head"
    VISION = "vision"
    MTP = "mtp"  # multi-token prediction: not loaded unless speculative decoding uses it
    OTHER = "other"


@dataclass(frozen=True)
class WeightGroup:
    """The tensors of one kind of module in one layer. All experts of a layer and kind are together.

    `module_kind` is the module's own name: q_proj, o_proj, in_proj_qkv, A_log, gate_proj, down_proj, gate_up_proj,
    embed_tokens, lm_head, input_layernorm ...; in the tower and in MTP, where names repeat, it is the path inside them:
    attn.qkv, merger.linear_fc1, patch_embed.proj, self_attn.q_proj, mlp.experts.down_proj. `layer` counts within the
    language model, the tower's blocks or the MTP layers; None outside of layers.
    """

    group: ModuleGroup
    module_kind: str
    layer: int | None
    folds: tuple[Fold, ...]

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Each tensor by itself. What only adds up is faster over `kinds`."""
        return tuple(tensor for fold in self.folds for tensor in fold)

    @property
    def kinds(self) -> tuple[tuple[Tensor, int], ...]:
        """A tensor of each kind, and how many there are of it: all experts' gate_proj.weight_packed are one kind."""
        return tuple((fold.first, fold.count) for fold in self.folds)

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors, scales and zero points included."""
        return sum(fold.size_bytes for fold in self.folds)

    @property
    def bytes_by_dtype(self) -> dict[str, int]:
        """Bytes by the type that the header states."""
        return sum_by_dtype(self.folds)


_Key = tuple[ModuleGroup, str, int | None]
_VISION = {
    "visual", "vision_tower", "vision_model", "vision_encoder", "vision_embed_tokens", "multi_modal_projector",
    "mm_projector", "patch_merger", "vit", "mlp1",
}  # fmt: skip
_EMBED = {"embed_tokens", "wte", "tok_embeddings", "word_embeddings", "embed_in"}
_HEAD = {"lm_head", "output", "embed_out"}
_SIDE_PARAMETERS = {"weight_shape", "g_idx", "weight_g_idx", "input_scale", "weight_global_scale", "weight_scale_2"}
_SCALES = {"weight_scale", "weight_scale_inv", "weight_zero_point", "scales", "qzeros", "qscales", "absmax", "scale"}
_PACKED = {"weight_packed", "qweight"}
_PARAMETERS = {"weight", "bias"} | _PACKED | _SIDE_PARAMETERS | _SCALES
_COUNTERS = {"layers", "blocks", "layer", "block", "h"}  # words that only say that a number follows
_NUMBERED = _COUNTERS | {"experts", "deepstack_merger_list"}


def group_weights(model: ModelFacts) -> tuple[WeightGroup, ...]:
    """Every tensor in exactly one group, in checkpoint order."""
    gathered: dict[_Key, list[Fold]] = {}
    layers = len(model.layers)
    for fold in folds_of(model.tensors):
        gathered.setdefault(_key(fold.first.name, layers), []).append(fold)
    return tuple(WeightGroup(group, kind, layer, tuple(found)) for (group, kind, layer), found in gathered.items())


def _key(name: str, layers: int) -> _Key:
    parts = name.split(".")
    if parts[-1] in _PARAMETERS and len(parts) > 1:
        parts.pop()
    numbers = [index for index in range(1, len(parts)) if parts[index - 1] in _NUMBERED and _is_number(parts[index])]
    own = [part for index, part in enumerate(parts) if index not in numbers]
    layer = int(parts[numbers[0]][:9]) if numbers else None
    group = _module_group(own, layer, layers)
    return group, _inner_path(own, group) or own[-1], layer


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _inner_path(own: list[str], group: ModuleGroup) -> str:
    """The path inside the tower or the MTP part; "" elsewhere."""
    if group not in (ModuleGroup.VISION, ModuleGroup.MTP):
        return ""
    marks = [index for index, word in enumerate(own[:-1]) if word in _VISION or word.startswith("mtp")]
    start = marks[-1] + 1 if marks else 0
    return ".".join(word for word in own[start:] if word not in _COUNTERS)


def _module_group(own: list[str], layer: int | None, layers: int) -> ModuleGroup:
    """The group of a module by the words of its path, the outermost first."""
    words, last = set(own), own[-1]
    if any(word.startswith("mtp") or word == "nextn" for word in own):
        return ModuleGroup.MTP
    if words & _VISION:
        return ModuleGroup.VISION
    if layers and layer is not None and layer >= layers and "layers" in words:
        return ModuleGroup.MTP  # DeepSeek and its kin keep the MTP layer after the last one
    return _language_group(words, last)


def _language_group(words: set[str], last: str) -> ModuleGroup:
    if last in _EMBED:
        return ModuleGroup.EMBED
    if last in _HEAD and not words & {"attention", "self_attn", "attn"}:
        return ModuleGroup.LM_HEAD
    if "norm" in last or last.startswith("ln_"):
        return ModuleGroup.NORMS
    if last in {"gate", "router", "shared_expert_gate"}:
        return ModuleGroup.ROUTER
    for group, names in _BY_WORD:
        if words & names:
            return group
    return ModuleGroup.OTHER


_BY_WORD = (
    (ModuleGroup.SHARED_EXPERT, {"shared_expert", "shared_experts"}),
    (ModuleGroup.EXPERTS, {"experts"}),
    (ModuleGroup.LINEAR_ATTENTION, {"linear_attn", "mamba", "mixer", "linear_attention"}),
    (ModuleGroup.ATTENTION, {"self_attn", "attn", "attention", "self_attention"}),
    (ModuleGroup.MLP, {"mlp", "feed_forward", "ffn"}),
)


def parameters(tensor: Tensor, bits: int | None) -> int:
    """Weights that a tensor holds, unpacked; 0 for scales, zero points and other bookkeeping."""
    parameter = tensor.name.rpartition(".")[2]
    if parameter in _SIDE_PARAMETERS or parameter in _SCALES or parameter.endswith(("_scale", "_scale_inv")):
        return 0
    count = math.prod(tensor.shape)
    if parameter in _PACKED and bits:
        return count * (8 if tensor.dtype in ("U8", "I8") else 32) // bits
    if tensor.dtype == "U8" and bits == 4:  # ModelOpt's NVFP4: two values a byte under the plain name
        return count * 2
    return count


def sum_by_dtype(folds: Iterable[Fold]) -> dict[str, int]:
    """Bytes by the type that the header states, the largest first."""
    found: dict[str, int] = {}
    for fold in folds:
        found[fold.first.dtype] = found.get(fold.first.dtype, 0) + fold.size_bytes
    return dict(sorted(found.items(), key=lambda item: -item[1]))
