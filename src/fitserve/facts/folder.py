"""The files of a model folder: which shards are the model, and what is damaged among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fitserve.errors import FitserveError
from fitserve.facts.config import broken, printable
from fitserve.facts.safetensors import Header, read_header
from fitserve.facts.tensor_cache import Stamp, load_tensors, stamp_of, store_tensors
from fitserve.facts.tensors import FoldedTensors
from fitserve.text import tr

INDEX = "model.safetensors.index.json"
INDEX_LIMIT_BYTES = 256 * 1024**2


class _Index(msgspec.Struct, gc=False):
    weight_map: dict[str, str]


@dataclass(frozen=True)
class Weights:
    """Tensors of the shards that could be read, and a sentence for each thing that is wrong."""

    tensors: FoldedTensors
    problems: tuple[str, ...]


def read_weights(folder: Path) -> Weights:
    """Every header of the folder's safetensors, held against its index where there is one.

    What was found whole is kept, and not read again until a file changes.
    """
    stamp = _stamp(folder)
    kept = load_tensors(folder, stamp) if stamp else None
    if kept is not None:
        return Weights(kept, ())
    weights = _read_weights(folder)
    if stamp and not weights.problems:
        store_tensors(folder, stamp, weights.tensors)
    return weights


def _stamp(folder: Path) -> Stamp | None:
    names = [path.name for path in folder.iterdir() if path.name.endswith(".safetensors") or path.name == INDEX]
    return stamp_of(folder, names)


def _read_weights(folder: Path) -> Weights:
    weight_map, problems = _index(folder)
    headers: dict[str, Header] = {}
    for shard in _shards(folder, weight_map):
        try:
            headers[shard] = read_header(folder / shard)
        except FitserveError as error:
            there = (folder / shard).exists()
            problems.append(error.message if there else tr("facts.missing_shard", shard=printable(shard)))
    if not problems:
        problems += _twice(headers) if weight_map is None else _disagreements(weight_map, headers)
    return Weights(joined(headers.values()), tuple(problems))


def joined(headers: Iterable[Header]) -> FoldedTensors:
    """The tensors of several shards."""
    return FoldedTensors(fold for header in headers for fold in header.tensors.folds)


def _index(folder: Path) -> tuple[dict[str, str] | None, list[str]]:
    path = folder / INDEX
    if not path.exists():
        return None, []
    try:
        return _read_index(path), []
    except FitserveError as error:
        return None, [error.message]


def _read_index(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_size > INDEX_LIMIT_BYTES:
            raise broken("facts.json_too_large", path.name, limit=INDEX_LIMIT_BYTES)
        content = path.read_bytes()
    except OSError as error:
        raise broken("facts.unreadable", path.name, reason=error.strerror or str(error)) from error
    return index_of(content, path.name)


def index_of(content: bytes, name: str) -> dict[str, str]:
    """Tensor to shard, from the content of an index file. A shard outside of the folder is refused."""
    try:
        weight_map = msgspec.json.decode(content, type=_Index).weight_map
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise broken("facts.json", name, reason=str(error)) from error
    outside = next((shard for shard in set(weight_map.values()) if Path(shard).name != shard), None)
    if outside is not None:
        raise broken("facts.index_outside", name, file=outside[:80])
    return weight_map


def _shards(folder: Path, weight_map: dict[str, str] | None) -> list[str]:
    """With an index the shards that it names (as vLLM does), else those that the folder has."""
    if weight_map is not None:
        return sorted(set(weight_map.values()))
    return main_shards(path.name for path in folder.iterdir())


def main_shards(names: Iterable[str]) -> list[str]:
    """The safetensors files that are the model: not Mistral's second copy (consolidated), where there is another."""
    weights = sorted(name for name in names if name.endswith(".safetensors"))
    return [name for name in weights if not name.startswith("consolidated")] or weights


def named_shards(folder: Path) -> list[str]:
    """The shards that a folder should have, by its index or by what is there. Empty where its index can't be read."""
    weight_map, problems = _index(folder)
    return [] if problems else _shards(folder, weight_map)


def _disagreements(weight_map: dict[str, str], headers: dict[str, Header]) -> list[str]:
    """Tensors that the index has and no shard, or a shard has and not the index."""
    found: dict[str, str] = {}
    for shard, header in headers.items():
        found.update(dict.fromkeys(header.names, shard))
    if found == weight_map:
        return []
    absent = [name for name, shard in weight_map.items() if found.get(name) != shard]
    extra = [name for name in found if name not in weight_map]
    problems = []
    if absent:
        shard = printable(weight_map[absent[0]])
        problems.append(tr("facts.index_absent", count=len(absent), tensor=printable(absent[0]), shard=shard))
    if extra:
        problems.append(tr("facts.index_extra", count=len(extra), tensor=printable(extra[0])))
    return problems


def _twice(headers: dict[str, Header]) -> list[str]:
    first = tensor_twice(headers.values())
    if first is None:
        return []
    one, other = [shard for shard, header in headers.items() if first in header.names][:2]
    return [tr("facts.twice", tensor=printable(first), shard=printable(one), other=printable(other))]


def tensor_twice(headers: Iterable[Header]) -> str | None:
    """The first name that two shards have."""
    seen: set[str] = set()
    for header in headers:
        both = seen.intersection(header.names)
        if both:
            return min(both)
        seen.update(header.names)
    return None
