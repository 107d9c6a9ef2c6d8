"""An OpenAI endpoint that really looks at the pictures it gets: it answers with their main colours and sizes.

Words in the last question steer it: `slow` (200 pieces, one each 50 ms), `hold` (no token for a minute), `think`,
`too long` (vLLM 0.32's refusal), `break` (the connection ends in the middle), `escape` (control sequences),
`script` (markup that must stay text), `rich` (Markdown with a table, code and mathematics), `differ` (another answer
each time), `stamps` (as `slow`, each piece the millisecond of its sending).
"""

from __future__ import annotations

import base64
import io
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 80, 220),
    "yellow": (240, 220, 40),
    "white": (255, 255, 255),
    "black": (0, 0, 0),
}
TOO_LONG = (  # vllm/renderers/params.py of 0.32
    "This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and your prompt "
    "contains at least 4097 input tokens, for a total of at least 4097 tokens. Please reduce the length of the input "
    "prompt or the number of requested output tokens."
)


RICH = """## A heading

Some **bold**, some *slanted*, a [link](https://example.org/) and `code`. It costs $5, not $10.

| shape | count |
|:------|------:|
| star  | 3     |
| a very long name of a shape that is wider than any telephone | 4 |

```python
def area(radius: float) -> float:
    return 3.14159 * radius**2
```

1. one
2. two

Inline \\(a^2 + b^2\\) and $c^2$, and displayed:

$$
\\int_0^1 x^2 \\, dx = \\frac{1}{3}
$$

\\[ e^{i\\pi} = -1 \\]

![a picture](https://192.0.2.1/x.png) javascript: [bad](javascript:alert(1))
"""


@dataclass
class Seen:
    """What the endpoint was asked, and what became of it."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    active: int = 0
    given_up: int = 0  # the client went away before the end
    pieces_sent: int = 0

    @property
    def last(self) -> list[dict[str, Any]]:
        return self.requests[-1]["messages"]


def pictures(messages: list[dict[str, Any]]) -> list[Image.Image]:
    """All pictures of a request, decoded."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))) for url in urls]


def colour(image: Image.Image) -> str:
    """The named colour nearest to the picture's middle."""
    r, g, b = image.convert("RGB").resize((3, 3)).getpixel((1, 1))
    return min(COLOURS, key=lambda name: sum((x - y) ** 2 for x, y in zip((r, g, b), COLOURS[name], strict=True)))


def question(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else next(p["text"] for p in content if p["type"] == "text")


def answer(messages: list[dict[str, Any]]) -> str:
    seen = [f"{colour(image)} {image.width}x{image.height}" for image in pictures(messages)]
    turns = sum(message["role"] == "user" for message in messages)
    return f"I see {', '.join(seen) or 'no picture'} (turn {turns})."


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: Seen
    key: str
    model: str

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        cards = [{"id": self.model, "object": "model", "max_model_len": 4096}]
        self.reply(200, {"object": "list", "data": cards}) if self.allowed() else None

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        self.seen.requests.append(request)
        asked = question(request["messages"])
        if "too long" in asked:
            self.reply(400, {"error": {"message": TOO_LONG, "type": "BadRequestError", "param": None, "code": 400}})
            return
        self.seen.active += 1
        try:
            self.stream(request, asked)
        except (BrokenPipeError, ConnectionResetError):
            self.seen.given_up += 1
            self.close_connection = True
        finally:
            self.seen.active -= 1

    def allowed(self) -> bool:
        if self.key and self.headers.get("Authorization") != f"Bearer {self.key}":
            self.reply(401, {"error": "Unauthorized"})
            return False
        return True

    def stream(self, request: dict[str, Any], asked: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "hold" in asked:
            self.wait(60)
        if "think" in asked:
            self.delta({"reasoning": "I look at "})
            self.delta({"reasoning": "the picture."})
        count = 0
        for piece in self.pieces(request, asked):
            self.wait(0.05 if any(word in asked for word in ("slow", "stamps", "steady")) else 0.0)
            self.delta({"content": f"{time.time() * 1000:.0f} " if "stamps" in asked else piece})
            count += 1
        if "break" in asked:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": count, "total_tokens": 0}})
        self.chunk("data: [DONE]\n\n")
        self.chunk("")

    def pieces(self, request: dict[str, Any], asked: str) -> list[str]:
        if "slow" in asked or "stamps" in asked:
            return [f"word{number} " for number in range(200)]
        if "steady" in asked:
            return [f"word{number} " for number in range(12)]
        if "rich" in asked:
            return [RICH[at : at + 7] for at in range(0, len(RICH), 7)]
        if "differ" in asked:
            return [f"Answer number {len(self.seen.requests)}."]
        if "escape" in asked:
            return ["safe \x1b", "[31mred\x1b[0m ", "\x1b]0;title\x07", "end"]
        if "script" in asked:
            return ["<script>document.title='taken'</script>", "<img src=http://192.0.2.1/x.png>", "done"]
        return [word + " " for word in answer(request["messages"]).split(" ")]

    def delta(self, delta: dict[str, str]) -> None:
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.seen.pieces_sent += 1

    def event(self, value: dict[str, Any]) -> None:
        self.chunk(f"data: {json.dumps(value)}\n\n")

    def chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def wait(self, seconds: float) -> None:
        """Wait, but notice a client that goes away: an engine frees its slot then."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], left)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise BrokenPipeError

    def reply(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def stub_endpoint(model: str = "stub-vl", key: str = "", port: int = 0) -> Iterator[tuple[str, Seen]]:
    """(base URL, what it has seen) while the block runs."""
    seen = Seen()
    handler = type("StubHandler", (Handler,), {"seen": seen, "key": key, "model": model})
    server = Server(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
