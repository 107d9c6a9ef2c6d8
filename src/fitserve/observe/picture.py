"""A picture for a question to any model: one coloured square on white, as a PNG, without a library."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

SIDE = 224  # pixels
_COLOURS = {"red": (214, 39, 40), "blue": (31, 90, 200), "green": (40, 150, 60), "yellow": (250, 210, 40)}


@dataclass(frozen=True)
class Square:
    """The colour's name, and the picture's bytes."""

    colour: str
    png: bytes


def square(number: int) -> Square:
    """The picture of this number: the colour changes with it, so that no cache answers for the picture."""
    colour = list(_COLOURS)[number % len(_COLOURS)]
    return Square(colour, _png(_COLOURS[colour]))


def _png(colour: tuple[int, int, int]) -> bytes:
    edge, inner = SIDE // 4, SIDE // 2
    plain = b"\0" + b"\xff\xff\xff" * SIDE
    white = b"\xff\xff\xff" * edge
    crossed = b"\0" + white + bytes(colour) * inner + white
    rows = plain * edge + crossed * inner + plain * edge
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
