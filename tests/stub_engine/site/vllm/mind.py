"""What a stub with `looks` does like an engine with a model: it sees a picture's colour, counts tokens, has slots."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from vllm.script import Script

_COLOURS = {"red": (214, 39, 40), "blue": (31, 90, 200), "green": (40, 150, 60), "yellow": (250, 210, 40)}
_PICTURE_TOKENS = 64


class Mind:
    """One for the whole server."""

    def __init__(self) -> None:
        self.running = 0
        self._before: bytes | None = None
        self._kept: list[bytes] = []

    @contextmanager
    def slot(self, script: Script) -> Iterator[None]:
        """A request in work. One that is hung up may keep its place, if the script says so."""
        self.running += 1
        try:
            yield
        except OSError:
            self.running += script.keeps_slot
            raise
        finally:
            self.running -= 1

    def refusal(self, body: dict[str, object], longest: int, script: Script) -> str:
        """vLLM's words for what is too much; "" where nothing is."""
        if len(pictures(body)) > script.pictures > 0:
            return f"At most {script.pictures} image(s) may be provided in one prompt."
        if tokens(body) + int(str(body.get("max_tokens") or 1)) > longest:
            return f"This model's maximum context length is {longest} tokens. However, you requested more."
        return ""

    def answer(self, body: dict[str, object], script: Script) -> str:
        """The colour in the middle of each picture, or of the one that it was shown before; else the usual words."""
        self._kept.append(b"x" * script.leak_bytes)
        seen = pictures(body)
        if not seen:
            return " ".join(["one"] * int(str(body["max_tokens"]))) if body.get("ignore_eos") else script.answer
        before, self._before = self._before, seen[-1]
        if script.old_picture and before:
            return colour(before)
        return " ".join(colour(picture) for picture in seen)


def texts(body: dict[str, object]) -> Iterator[str]:
    """Every text of a request."""
    for message in body["messages"]:  # type: ignore[attr-defined]  # an OpenAI request
        content = message["content"]
        yield from [content] if isinstance(content, str) else [part.get("text", "") for part in content]


def pictures(body: dict[str, object]) -> list[bytes]:
    """Every picture of a request."""
    parts = json.dumps(body).split(";base64,")[1:]
    return [base64.b64decode(part.partition('"')[0]) for part in parts]


def tokens(body: dict[str, object]) -> int:
    """A word is a token, a picture as many as it likes, and the template has ten."""
    return 10 + sum(len(text.split()) for text in texts(body)) + _PICTURE_TOKENS * len(pictures(body))


def colour(png: bytes) -> str:
    """The nearest name for the pixel in the middle; an unfiltered row is enough for the pictures of the probes."""
    width, height = struct.unpack(">II", png[16:24])
    rows = zlib.decompress(b"".join(_chunks(png)))
    row = rows[(1 + 3 * width) * (height // 2) :]
    pixel = row[1 + 3 * (width // 2) :][:3]
    return min(_COLOURS, key=lambda name: sum(abs(a - b) for a, b in zip(_COLOURS[name], pixel, strict=True)))


def _chunks(png: bytes) -> Iterator[bytes]:
    place = 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        if kind == b"IDAT":
            yield png[place + 8 : place + 8 + length]
        place += 12 + length
