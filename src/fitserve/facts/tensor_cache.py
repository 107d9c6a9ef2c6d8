"""Tensors of a large folder as they were read last time: good as long as no shard has another size or time."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fitserve.facts.tensors import Fold, FoldedTensors
from fitserve.paths import cache_dir

WORTH_KEEPING = 2000  # below this many tensors, reading the headers is as fast
_LIMIT_BYTES = 256 * 1024**2
Stamp = tuple[tuple[str, int, int], ...]  # name, bytes, time of the last change in nanoseconds


class _Kept(msgspec.Struct, array_like=True):
    stamp: Stamp
    folds: tuple[Fold, ...]


def stamp_of(folder: Path, names: Iterable[str]) -> Stamp | None:
    """What identifies the state of these files; None where one of them is not there."""
    try:
        states = [(name, (folder / name).stat()) for name in sorted(names)]
    except OSError:
        return None
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)


def load_tensors(folder: Path, stamp: Stamp) -> FoldedTensors | None:
    """The tensors that were kept for exactly this state."""
    try:
        content = zlib.decompressobj().decompress(_path(folder).read_bytes(), _LIMIT_BYTES)
        kept = msgspec.msgpack.decode(content, type=_Kept)
    except (OSError, zlib.error, msgspec.MsgspecError):
        return None
    return FoldedTensors(kept.folds) if kept.stamp == stamp else None


def store_tensors(folder: Path, stamp: Stamp, tensors: FoldedTensors) -> None:
    """Keep them. A full disk or a read-only home is no reason to fail."""
    if len(tensors) < WORTH_KEEPING:
        return
    try:
        path = _path(folder)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(zlib.compress(msgspec.msgpack.encode(_Kept(stamp, tensors.folds)), 1))
        part.replace(path)
    except OSError:
        return


def _path(folder: Path) -> Path:
    return cache_dir() / "tensors" / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
