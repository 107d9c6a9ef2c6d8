"""The header of a safetensors file: names, types, shapes and places of its tensors, without reading a weight.

A header is 8 bytes of length (little endian) and that much JSON; the tensors follow without gaps. Format:
https://github.com/huggingface/safetensors (README, "Format"); its own cap of 100 MB is kept here.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fitserve.facts.config import broken
from fitserve.facts.tensors import FoldedTensors, Folding
from fitserve.text import tr

LENGTH_BYTES = 8
HEADER_LIMIT_BYTES = 100_000_000
_LFS_POINTER = b"version "  # a Git LFS pointer begins with "version https://git-lfs.github.com/spec/"
_BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16,
    "U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I8": 8, "U8": 8,
    "BOOL": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip


class _Entry(msgspec.Struct, gc=False):
    """One value of the header. The defaults are impossible values: what is left out is found by the checks."""

    dtype: str = ""
    shape: tuple[int, ...] = (-1,)
    data_offsets: tuple[int, int] = (-1, -1)


_ENTRIES = msgspec.json.Decoder(dict[str, _Entry])
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_Entry)
_BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Header:
    """What one file holds. `data_bytes` is what must follow the header."""

    tensors: FoldedTensors
    names: Collection[str]
    header_bytes: int  # with the eight bytes of length
    data_bytes: int


def read_header(path: Path) -> Header:
    """The header of a file, its size held against what the header states. Raises OperationFailed (broken_model)."""
    try:
        state = path.stat()
        size = state.st_size
        if not stat.S_ISREG(state.st_mode):  # opening a pipe would wait for ever
            raise broken("facts.unreadable", path.name, reason=tr("facts.not_a_file"))
        with path.open("rb") as file:
            length = header_length(file.read(LENGTH_BYTES), path.name, size)
            content = file.read(length)
    except OSError as error:
        raise broken("facts.unreadable", path.name, reason=error.strerror or str(error)) from error
    header = parse_header(content, path.name)
    if size != header.header_bytes + header.data_bytes:
        wanted = header.header_bytes + header.data_bytes
        raise broken("facts.truncated" if size < wanted else "facts.too_long", path.name, size=size, wanted=wanted)
    return header


def header_length(prefix: bytes, shard: str, file_bytes: int) -> int:
    """The length that the first eight bytes claim, refused where the file can't hold it or it is past the cap."""
    if file_bytes == 0:
        raise broken("facts.empty_file", shard)
    if prefix == _LFS_POINTER:
        raise broken("facts.lfs_pointer", shard)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < LENGTH_BYTES or length > HEADER_LIMIT_BYTES:
        raise broken("facts.header_length", shard, length=length, limit=HEADER_LIMIT_BYTES)
    if LENGTH_BYTES + length > file_bytes:
        raise broken("facts.truncated", shard, size=file_bytes, wanted=LENGTH_BYTES + length)
    return length


def parse_header(content: bytes, shard: str) -> Header:
    """The JSON part of a header. Offsets must cover the data from its beginning, in order, without gap or overlap."""
    entries = _entries(content, shard)
    sizes: dict[tuple[str, tuple[int, ...]], int | None] = {}
    folding = Folding(shard)
    for name, entry in entries.items():
        key = (entry.dtype, entry.shape)
        if key not in sizes:
            sizes[key] = _size(entry)
        begin, end = entry.data_offsets
        if begin < 0 or end < begin or sizes[key] not in (end - begin, None):
            raise broken("facts.bad_entry", shard, tensor=name, entry=f"{key[0]} {list(key[1])} [{begin}, {end}]")
        folding.add(name, entry.dtype, entry.shape, end - begin)
    tensors = FoldedTensors(folding.folds())
    return Header(tensors, entries.keys(), LENGTH_BYTES + len(content), _covered(entries, shard))


def _entries(content: bytes, shard: str) -> dict[str, _Entry]:
    try:
        entries = _ENTRIES.decode(content)
    except msgspec.ValidationError:  # __metadata__ may use any key; look at it last
        entries = _slow_entries(content, shard)
    except _BAD_JSON as error:
        raise broken("facts.header_json", shard, reason=str(error)) from error
    entries.pop("__metadata__", None)
    return entries


def _slow_entries(content: bytes, shard: str) -> dict[str, _Entry]:
    name = ""
    try:
        raw = _RAW.decode(content)
        raw.pop("__metadata__", None)
        entries = {}
        for name, value in raw.items():
            entries[name] = _ENTRY.decode(value)
    except _BAD_JSON as error:
        raise broken("facts.header_json", shard, reason=f"{name} {error}".strip()) from error
    return entries


def _size(entry: _Entry) -> int | None:
    """Bytes of a tensor, None for a type that we don't know (a newer format), -1 for an impossible shape."""
    if not entry.dtype or any(side < 0 for side in entry.shape):
        return -1
    bits = _BITS.get(entry.dtype)
    return None if bits is None else math.prod(entry.shape) * bits // 8


def _covered(entries: dict[str, _Entry], shard: str) -> int:
    """Bytes of data, after a look that each tensor begins where the one before it ends."""
    spans = [entry.data_offsets for entry in entries.values()]
    spans.sort()
    place = 0
    for begin, end in spans:
        if begin != place:
            raise broken("facts.overlap" if begin < place else "facts.gap", shard, place=place, begin=begin)
        place = end
    return place
