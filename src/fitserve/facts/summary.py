"""A model added up for a reader: parameters and bytes by module group, and what is left in 16 bit."""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.facts.model import ModelFacts, QuantFormat
from fitserve.facts.weights import ModuleGroup, WeightGroup, group_weights, parameters, sum_by_dtype

_SIXTEEN_BIT = {"BF16", "F16"}


@dataclass(frozen=True)
class GroupSummary:
    """One row: a module group with its weights (scales counted in bytes, not in parameters)."""

    group: ModuleGroup
    parameters: int
    size_bytes: int
    bytes_by_dtype: dict[str, int]
    sixteen_bit: bool  # none of its weights is quantized


def summarize(model: ModelFacts) -> tuple[GroupSummary, ...]:
    """The groups that the checkpoint has, in reading order."""
    gathered: dict[ModuleGroup, list[WeightGroup]] = {}
    for weights in group_weights(model):
        gathered.setdefault(weights.group, []).append(weights)
    return tuple(_sum(group, gathered[group], _bits(model)) for group in ModuleGroup if group in gathered)


def _sum(group: ModuleGroup, found: list[WeightGroup], bits: int | None) -> GroupSummary:
    folds = [fold for weights in found for fold in weights.folds]
    counted = [(fold, parameters(fold.first, bits)) for fold in folds]
    heavy = {fold.first.dtype for fold, count in counted if count and len(fold.first.shape) > 1}
    return GroupSummary(
        group=group,
        parameters=sum(count * fold.count for fold, count in counted),
        size_bytes=sum(fold.size_bytes for fold in folds),
        bytes_by_dtype=sum_by_dtype(folds),
        sixteen_bit=bool(heavy) and heavy <= _SIXTEEN_BIT,
    )


def _bits(model: ModelFacts) -> int | None:
    """Bits of a packed weight: the group's own, and where several differ, those of the packed one."""
    quantization = model.quantization
    packed = [group.bits for group in quantization.groups if group.bits and group.bits < 8]
    return quantization.bits or (packed[0] if packed else None)


def left_in_sixteen_bit(model: ModelFacts, rows: tuple[GroupSummary, ...]) -> tuple[GroupSummary, ...]:
    """The groups of a quantized model whose weights were left as they were; empty for an unquantized one."""
    if model.quantization.format is QuantFormat.NONE:
        return ()
    return tuple(row for row in rows if row.sixteen_bit and row.group is not ModuleGroup.NORMS)
