"""Safetensors headers of a hub model by byte ranges: eight bytes, then exactly the header, for each shard.

Nothing but headers crosses the line, and a header that was read once (same file, same digest) is kept on the disk: a
run that was broken off goes on where it stood.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from fitserve.errors import FitserveError
from fitserve.facts.config import broken
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import HubRef
from fitserve.facts.hub_site import HubFile, file_path
from fitserve.facts.safetensors import HEADER_LIMIT_BYTES, LENGTH_BYTES, Header, header_length, parse_header
from fitserve.paths import cache_dir

Progress = Callable[[int, int], None]  # bytes done, bytes in all
_PIECE_BYTES = 1024**2
_TOTAL_LIMIT_BYTES = 5 * HEADER_LIMIT_BYTES  # the largest published models have some 40 MB
_WORKERS = 8
_In = TypeVar("_In")
_Out = TypeVar("_Out")


def fetch_headers(
    web: HubWeb, ref: HubRef, shards: Sequence[HubFile], progress: Progress | None = None
) -> tuple[Header, ...]:
    """The headers of `shards`, in their order. Raises what HubWeb raises, and OperationFailed for a damaged header."""
    stored = {shard.path: _load(ref, shard) for shard in shards}
    missing = [shard for shard in shards if stored[shard.path] is None]
    lengths = dict(zip((s.path for s in missing), _each(web, missing, lambda s: _length(web, ref, s)), strict=True))
    total = sum(lengths.values())
    if total > _TOTAL_LIMIT_BYTES:
        raise broken("facts.header_length", str(ref), length=total, limit=_TOTAL_LIMIT_BYTES)
    tally = _Tally(total, progress)
    web.allow(tally.total)

    def content(shard: HubFile) -> bytes:
        kept = stored[shard.path]
        return _fetch(web, ref, shard, lengths[shard.path], tally) if kept is None else kept

    return tuple(parse_header(content, s.path) for s, content in zip(shards, _each(web, shards, content), strict=True))


class _Tally:
    """Bytes of headers so far, told to whoever watches."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total = total
        self.done = 0
        self.progress = progress
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self.done += count
            if self.progress:
                self.progress(self.done, self.total)


def _each(web: HubWeb, items: Sequence[_In], work: Callable[[_In], _Out]) -> list[_Out]:
    """All at once, a few at a time. The first failure, or the person's Ctrl-C, ends the others too."""
    pool = ThreadPoolExecutor(_WORKERS)
    try:
        return list(pool.map(work, items))
    except BaseException:
        web.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _length(web: HubWeb, ref: HubRef, shard: HubFile) -> int:
    prefix = web.get_range(file_path(ref, shard.path), 0, LENGTH_BYTES) if shard.size_bytes >= LENGTH_BYTES else b""
    return header_length(prefix, shard.path, shard.size_bytes)


def _fetch(web: HubWeb, ref: HubRef, shard: HubFile, length: int, tally: _Tally) -> bytes:
    pieces = []
    for start in range(0, length, _PIECE_BYTES):
        size = min(_PIECE_BYTES, length - start)
        pieces.append(web.get_range(file_path(ref, shard.path), LENGTH_BYTES + start, size))
        tally.add(size)
    content = b"".join(pieces)
    _store(ref, shard, content)
    return content


def _kept(ref: HubRef, shard: HubFile) -> Path:
    key = "\n".join((ref.hub, ref.id, shard.path, shard.digest, str(shard.size_bytes)))
    return cache_dir() / "headers" / hashlib.sha256(key.encode()).hexdigest()


def _load(ref: HubRef, shard: HubFile) -> bytes | None:
    if not shard.digest:
        return None
    try:
        content = zlib.decompressobj().decompress(_kept(ref, shard).read_bytes(), HEADER_LIMIT_BYTES)
        parse_header(content, shard.path)
    except (OSError, zlib.error, FitserveError):
        return None
    return content


def _store(ref: HubRef, shard: HubFile, content: bytes) -> None:
    """Keep a header. A full disk is no reason to fail."""
    if not shard.digest:
        return
    try:
        path = _kept(ref, shard)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part = path.with_suffix(f".{hashlib.sha256(content).hexdigest()[:8]}.part")
        part.write_bytes(zlib.compress(content, 1))
        part.replace(path)
    except OSError:
        return
