"""Bytes of a log as lines: plain or gzip, UTF-8, UTF-16, GB18030 or Latin-1, LF or CRLF, lines of any length."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

_BLOCK = 1 << 20
_LONGEST = 1 << 18  # characters of one line before the rest of it is dropped


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, through gzip where its first bytes say so. Raises OSError."""
    with path.open("rb") as stream:
        yield decompressed(stream)


def decompressed(stream: IO[bytes]) -> IO[bytes]:
    """The stream itself, or its decompressed content. The stream must be buffered, as files and stdin are."""
    peek = getattr(stream, "peek", None)
    if peek is not None and peek(2)[:2] == b"\x1f\x8b":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    return stream


def lines_of(stream: IO[bytes]) -> Iterator[str]:
    """Every line without its end. A damaged or cut stream ends quietly where it can't be read on."""
    block = _read(stream)
    decoder = codecs.getincrementaldecoder(encoding_of(block))(errors="replace")
    rest = ""
    while block:
        text = rest + decoder.decode(block)
        *whole, rest = text.split("\n")
        yield from whole
        if len(rest) > _LONGEST:
            rest = rest[:_LONGEST]
        block = _read(stream)
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest


def encoding_of(block: bytes) -> str:
    """The encoding of a log, from its first block."""
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if block[:400].count(0) > len(block[:400]) // 4:
        return "utf-16-le" if block[1:2] == b"\0" else "utf-16-be"
    damage = block.decode("utf-8", errors="replace").count("\ufffd")
    if damage * 50 <= len(block):  # a few broken bytes, or a character cut at the end of the block
        return "utf-8-sig"
    try:
        codecs.getincrementaldecoder("gb18030")().decode(block)
    except UnicodeDecodeError:
        return "latin-1"
    return "gb18030"


def _read(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(_BLOCK)
    except (EOFError, gzip.BadGzipFile, OSError, ValueError):
        return b""
    except Exception as error:  # zlib.error has no public base
        if type(error).__name__ == "error":
            return b""
        raise
