"""Tensors as headers state them, and folded: the same matrix of every expert is one entry with a count.

A checkpoint of this kind has 95,000 tensors and 1,900 entries; what is added up over entries costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import msgspec


class Tensor(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One tensor of a checkpoint as its header states it. `size_bytes` is what it takes on disk.

    A msgspec struct, not a dataclass: a checkpoint has up to 100,000 of them, and this makes them six times faster.
    """

    name: str
    dtype: str  # safetensors' names: BF16, F16, F32, I32, F8_E4M3, U8 ...
    shape: tuple[int, ...]
    size_bytes: int
    shard: str


class Fold(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tensor, and where `numbers` is not empty its equals under those experts' numbers (`first` has numbers[0])."""

    first: Tensor
    numbers: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """How many tensors it stands for."""
        return len(self.numbers) or 1

    @property
    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return self.first.size_bytes * self.count

    def __iter__(self) -> Iterator[Tensor]:
        if not self.numbers:
            yield self.first
            return
        first = self.first
        before, _, after = first.name.partition(EXPERTS)
        before, after = before + EXPERTS, after[after.index(".") :]
        for number in self.numbers:
            yield Tensor(f"{before}{number}{after}", first.dtype, first.shape, first.size_bytes, first.shard)


EXPERTS = ".experts."


class FoldedTensors(Sequence[Tensor]):
    """A sequence of tensors that is kept folded and written out only when somebody looks at each one."""

    def __init__(self, folds: Iterable[Fold]) -> None:
        self.folds = tuple(folds)

    @cached_property
    def _all(self) -> tuple[Tensor, ...]:
        return tuple(tensor for fold in self.folds for tensor in fold)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tensor, ...]: ...
    def __getitem__(self, index: int | slice) -> Tensor | tuple[Tensor, ...]:
        return self._all[index]

    def __len__(self) -> int:
        return sum(fold.count for fold in self.folds)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FoldedTensors):
            return self.folds == other.folds or self._all == other._all
        return isinstance(other, Sequence) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self.folds)

    def __repr__(self) -> str:
        return f"<{len(self)} tensors>"


def fold(tensors: Iterable[Tensor]) -> FoldedTensors:
    """The same tensors folded, experts in order of their numbers."""
    if isinstance(tensors, FoldedTensors):
        return tensors
    found: dict[tuple[object, ...], list[int]] = {}
    firsts: dict[tuple[object, ...], Tensor] = {}
    for tensor in tensors:
        name = tensor.name
        start = name.find(EXPERTS) + len(EXPERTS)
        end = name.find(".", start)
        number = name[start:end] if start >= len(EXPERTS) else ""
        if not number.isdigit() or not number.isascii() or (number[0] == "0" and number != "0") or len(number) > 9:
            firsts[(name, tensor.shard)] = tensor
            continue
        key = (name[:start], name[end:], tensor.dtype, tensor.shape, tensor.shard, tensor.size_bytes)
        if key in found:
            found[key].append(int(number))
        else:
            found[key] = [int(number)]
            firsts[key] = tensor
    return FoldedTensors(_fold(firsts[key], found.get(key)) for key in firsts)


def _fold(first: Tensor, numbers: list[int] | None) -> Fold:
    if numbers is None:
        return Fold(first)
    ordered = tuple(sorted(numbers))
    before, _, after = first.name.partition(EXPERTS)
    name = f"{before}{EXPERTS}{ordered[0]}{after[after.index('.') :]}"
    return Fold(Tensor(name, first.dtype, first.shape, first.size_bytes, first.shard), ordered)


def folds_of(tensors: Sequence[Tensor]) -> tuple[Fold, ...]:
    """The folds of a sequence, folded now where it was not."""
    return fold(tensors).folds
