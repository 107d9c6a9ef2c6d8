"""Single questions over HTTP, as any client puts them."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from random import Random
from typing import Any

from fitserve.measure.pictures import Size, draw
from fitserve.observe.picture import square

MODEL = "lab"


@dataclass(frozen=True)
class Reply:
    """What came: the status (0 where nobody answered), the JSON or the error's text, seconds."""

    status: int
    body: dict[str, Any]
    text: str
    seconds: float

    @property
    def answer(self) -> str:
        """The text of the first choice."""
        choice = (self.body.get("choices") or [{}])[0]
        return str(choice.get("text") or (choice.get("message") or {}).get("content") or "")


def healthy(url: str) -> bool:
    """Whether `/health` says so."""
    return _ask(urllib.request.Request(f"{url}/health"), 2.0).status == 200


def metrics(url: str, timeout_s: float = 10.0) -> str:
    """The page of `/metrics`; why there is none where there is none."""
    return _ask(urllib.request.Request(f"{url}/metrics"), timeout_s).text


def ask_square(url: str, number: int, timeout_s: float = 300, model: str = MODEL) -> Reply:
    """A small coloured square: the first question to any model."""
    return ask_picture(url, square(number).png, "image/png", "What colour is the square?", 8, timeout_s, model)


def ask_drawn(url: str, size: Size, seed: int, tokens: int = 8, timeout_s: float = 300) -> Reply:
    """A picture of the demo world in any size."""
    return ask_picture(
        url, draw(Random(f"lab {seed}"), size, "en").data, "image/jpeg", "What is here?", tokens, timeout_s
    )


def ask_picture(
    url: str, image: bytes, mime: str, text: str, tokens: int, timeout_s: float, model: str = MODEL
) -> Reply:
    """One picture and one question, greedy."""
    data = f"data:{mime};base64,{base64.b64encode(image).decode()}"
    content = [{"type": "image_url", "image_url": {"url": data}}, {"type": "text", "text": text}]
    message = {"role": "user", "content": content}
    return post(url, "/v1/chat/completions", {"model": model, "messages": [message], "max_tokens": tokens}, timeout_s)


def ask_ids(url: str, count: int, timeout_s: float = 300) -> Reply:
    """A prompt of exactly `count` tokens, never the same twice."""
    rng = Random(f"lab ids {count} {time.time()}")
    ids = [rng.randrange(300, 1000) for _ in range(count)]
    return post(url, "/v1/completions", {"prompt": ids, "max_tokens": 16, "ignore_eos": True}, timeout_s)


def post(url: str, path: str, body: dict[str, Any], timeout_s: float) -> Reply:
    """A POST; never raises."""
    data = json.dumps({"model": MODEL, "temperature": 0, **body}).encode()
    return _ask(urllib.request.Request(url + path, data, {"Content-Type": "application/json"}), timeout_s)


def _ask(request: urllib.request.Request, timeout_s: float) -> Reply:
    began = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as reply:
            status, text = int(reply.status), reply.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode("utf-8", "replace")[:2000]
    except (OSError, ValueError) as error:
        status, text = 0, f"{type(error).__name__}: {error}"
    body: Any = {}
    if status == 200 and text.startswith("{"):
        body = json.loads(text)
    return Reply(status, body, text, round(time.monotonic() - began, 3))
