"""`doctor NAME --probe`: the smallest input first, then larger ones, until the first that fails."""

from __future__ import annotations

import base64
import math
import struct
import time
import zlib
from collections.abc import Iterator

from fitserve.facts.model import ModelFacts
from fitserve.observe.http import Reply, request
from fitserve.plan.plan import Check, CheckState
from fitserve.run.deployment import Deployment
from fitserve.text import tr

_SIDES = (64, 448, 1024)
_LARGEST = 4096
_TIMEOUT_S = 300.0


def probed(deployment: Deployment, facts: ModelFacts | None) -> Iterator[Check]:
    """A check for each question, the last one being the first that failed."""
    for name, content in _questions(facts):
        started = time.monotonic()
        reply = _ask(deployment, content)
        seconds = time.monotonic() - started
        good = reply.status == 200
        detail = _answered(reply, seconds) if good else _complaint(reply)
        yield Check(name, CheckState.OK if good else CheckState.FAIL, detail)
        if not good:
            return


def _questions(facts: ModelFacts | None) -> Iterator[tuple[str, object]]:
    yield "probe_text", "Say hello in one word."
    for side in (*_SIDES, *_largest(facts)):
        data = base64.b64encode(picture(side)).decode()
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        yield f"probe_{side}", [image, {"type": "text", "text": "What colour is this? One word."}]


def _largest(facts: ModelFacts | None) -> tuple[int, ...]:
    """The side of the largest square that the model's processor lets through, where it is known."""
    pixels = facts.vision.max_pixels if facts and facts.vision else None
    side = min(_LARGEST, math.isqrt(pixels)) if pixels else 0
    return (side,) if side > _SIDES[-1] else ()


def picture(side: int) -> bytes:
    """A square PNG of one colour that changes with its side, so that no cache answers for it."""
    row = b"\0" + bytes((side % 251, 31, 200)) * side
    body = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * side, 1)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in body
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _ask(deployment: Deployment, content: object) -> Reply:
    body = {"model": deployment.served_model_name, "max_tokens": 16, "temperature": 0}
    body["messages"] = [{"role": "user", "content": content}]
    return request(deployment, "/v1/chat/completions", _TIMEOUT_S, body)


def _answered(reply: Reply, seconds: float) -> str:
    """Its time, and its tokens: a large picture that costs no more than a smaller one was shrunk."""
    usage = reply.table().get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not isinstance(tokens, int):
        return tr("doctor.probe_seconds", seconds=seconds)
    return tr("doctor.probe_tokens", seconds=seconds, tokens=tokens)


def _complaint(reply: Reply) -> str:
    error = reply.table().get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return f"HTTP {reply.status}: {str(message or reply.text).strip()[:300]}"
