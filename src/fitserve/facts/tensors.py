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
_NUMBERS = {str(number): number for number in range(4096)}


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


class Folding:
    """Folds the tensors of one shard as they come."""

    def __init__(self, shard: str) -> None:
        self.shard = shard
        self._single: list[Tensor] = []
        self._experts: dict[str, tuple[Tensor, list[int]]] = {}

    def add(self, name: str, dtype: str, shape: tuple[int, ...], size_bytes: int) -> None:
        """Take a tensor in. An expert of another type or shape than its like stands by itself."""
        start = name.find(EXPERTS) + len(EXPERTS)
        end = name.find(".", start)
        number = _NUMBERS.get(name[start:end]) if start >= len(EXPERTS) else None
        if number is None:
            self._single.append(Tensor(name, dtype, shape, size_bytes, self.shard))
            return
        place = name[:start] + name[end:]
        kept = self._experts.get(place)
        if kept is None:
            self._experts[place] = (Tensor(name, dtype, shape, size_bytes, self.shard), [number])
        elif kept[0].shape == shape and kept[0].dtype == dtype and kept[0].size_bytes == size_bytes:
            kept[1].append(number)
        else:
            self._single.append(Tensor(name, dtype, shape, size_bytes, self.shard))

    def folds(self) -> list[Fold]:
        """What was taken in."""
        return [Fold(tensor) for tensor in self._single] + [_ordered(*kept) for kept in self._experts.values()]


def _ordered(first: Tensor, numbers: list[int]) -> Fold:
    """Experts in order of their numbers; files have them in order of their names."""
    numbers.sort()
    before, _, after = first.name.partition(EXPERTS)
    name = f"{before}{EXPERTS}{numbers[0]}{after[after.index('.') :]}"
    return Fold(Tensor(name, first.dtype, first.shape, first.size_bytes, first.shard), tuple(numbers))


def fold(tensors: Iterable[Tensor]) -> FoldedTensors:
    """The same tensors folded."""
    if isinstance(tensors, FoldedTensors):
        return tensors
    shards: dict[str, Folding] = {}
    for tensor in tensors:
        folding = shards.get(tensor.shard) or shards.setdefault(tensor.shard, Folding(tensor.shard))
        folding.add(tensor.name, tensor.dtype, tensor.shape, tensor.size_bytes)
    return FoldedTensors(fold for folding in shards.values() for fold in folding.folds())


def folds_of(tensors: Sequence[Tensor]) -> tuple[Fold, ...]:
    """The folds of a sequence, folded now where it was not."""
    return fold(tensors).folds
