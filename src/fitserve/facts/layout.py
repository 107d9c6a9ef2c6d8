"""Tensors of a model that is known only by its config: the layout that its family and its dialect would write."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from fitserve.facts.layout_formats import Stored, store_for
from fitserve.facts.layout_modules import ExpertSet, Linear, Plain, modules
from fitserve.facts.layout_names import NAMINGS
from fitserve.facts.layout_scope import Scope, scope_of
from fitserve.facts.model import LayerKind, ModelFacts, QuantGroup
from fitserve.facts.tensors import Fold, FoldedTensors, Tensor

_DTYPES = {"bfloat16": "BF16", "float16": "F16", "half": "F16", "float32": "F32"}
_ITEM_BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8, "I8": 1, "U8": 1, "F8_E4M3": 1}
_SHARD = ""  # an inferred tensor is in no file


def with_inferred_tensors(model: ModelFacts) -> ModelFacts:
    """The facts with the tensors that their config implies; unchanged where the family's layout is not known."""
    tensors = infer_tensors(model)
    return replace(model, tensors=tensors, layout_inferred=True) if tensors else model


def infer_tensors(model: ModelFacts) -> FoldedTensors:
    """Empty where the architecture, its sizes or its quantization are not known well enough to lay it out."""
    naming = NAMINGS.get(model.architecture)
    if naming is None or not _is_sized(model):
        return FoldedTensors(())
    writer = _Writer(model, fused=naming.fused_experts)
    written = modules(model, naming) if writer.able else ()
    return FoldedTensors(fold for module in written for fold in writer.write(module))


def _is_sized(model: ModelFacts) -> bool:
    """Whether every size that a layout needs is stated."""
    if not (model.hidden and model.vocab and model.attention and model.layers) or LayerKind.UNKNOWN in model.layers:
        return False
    if model.linear_attention is None and LayerKind.LINEAR_ATTENTION in model.layers:
        return False
    return model.experts is not None or model.intermediate is not None


class _Writer:
    """Writes modules as tensors in the model's dialect."""

    def __init__(self, model: ModelFacts, *, fused: bool) -> None:
        self.dtype = _DTYPES.get(model.dtype, "BF16")
        self.fused = fused
        self.quantization = model.quantization
        self.scheme: Scope = scope_of(model.quantization)
        self.able = all(store_for(model.quantization, group) for group in model.quantization.groups)

    def write(self, module: Linear | ExpertSet | Plain) -> Iterator[Fold]:
        if isinstance(module, Plain):
            yield self._tensor(module.name, module.dtype or self.dtype, module.shape)
        elif isinstance(module, ExpertSet):
            yield from self._experts(module)
        else:
            yield from self._linear(module)

    def _linear(self, module: Linear) -> Iterator[Fold]:
        for parameter, dtype, shape in self._stored(module.rows, module.columns, self.scheme(module.name)):
            yield self._tensor(f"{module.name}.{parameter}", dtype, shape)
        if module.bias:
            yield self._tensor(f"{module.name}.bias", self.dtype, (module.rows,))

    def _experts(self, module: ExpertSet) -> Iterator[Fold]:
        group = self.scheme(f"{module.name}.0.gate_proj")
        if group is None and self.fused:
            count, width, hidden = module.count, module.width, module.hidden
            yield self._tensor(f"{module.name}.gate_up_proj", self.dtype, (count, 2 * width, hidden))
            yield self._tensor(f"{module.name}.down_proj", self.dtype, (count, hidden, width))
            return
        wide = self._stored(module.width, module.hidden, group)
        tall = self._stored(module.hidden, module.width, group)
        kinds = (("gate_proj", wide), ("up_proj", wide), ("down_proj", tall))
        parts = [
            (f"{kind}.{parameter}", dtype, shape, _size(dtype, shape))
            for kind, stored in kinds
            for parameter, dtype, shape in stored
        ]
        numbers = tuple(range(module.count))
        for suffix, dtype, shape, size in parts:
            yield Fold(Tensor(f"{module.name}.0.{suffix}", dtype, shape, size, _SHARD), numbers)

    def _stored(self, rows: int, columns: int, group: QuantGroup | None) -> Stored:
        store = store_for(self.quantization, group) if group else None
        if store is None or group is None:
            return (("weight", self.dtype, (rows, columns)),)
        return store(rows, columns, group, self.dtype)

    @staticmethod
    def _tensor(name: str, dtype: str, shape: tuple[int, ...]) -> Fold:
        return Fold(Tensor(name, dtype, shape, _size(dtype, shape), _SHARD))


def _size(dtype: str, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * _ITEM_BYTES[dtype]
