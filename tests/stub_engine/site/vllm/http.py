"""The stub's HTTP: /health, /version, /v1/models, /v1/chat/completions (whole and streamed), /metrics.

On bare sockets: http.server takes longer to import than the whole stub to start.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import BinaryIO

from vllm.mind import Mind, tokens
from vllm.said import raw
from vllm.script import Script

METRICS = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",engine="0",kv_cache_size_tokens="883011",num_gpu_blocks="%d"} 1.0
vllm:num_requests_running{engine="0",model_name="stub"} %d.0
vllm:prompt_tokens_total{engine="0",model_name="stub"} %d.0
vllm:generation_tokens_total{engine="0",model_name="stub"} %d.0
"""
_written = [0, 0]  # tokens read, tokens written
JSON, TEXT, EVENTS = "application/json", "text/plain", "text/event-stream"
_count = itertools.count(1)
_mind = Mind()


class Connection:
    """One request; the connection closes after it."""

    def __init__(self, stream: BinaryIO, served: argparse.Namespace, script: Script) -> None:
        self._stream, self._served, self._script = stream, served, script
        self._prompt_tokens = 10

    def handle(self) -> None:
        """Read a request and answer it."""
        words = self._stream.readline().decode().split()
        if len(words) != 3:
            return
        method, path, _ = words
        length = 0
        while (line := self._stream.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        status = self._post(json.loads(self._stream.read(length))) if method == "POST" else self._get(path)
        raw(f'INFO:     127.0.0.1:40000 - "{method} {path} HTTP/1.1" {status}')

    def _get(self, path: str) -> int:
        name = self._served.served_model_name or self._served.model
        pages = {
            "/health": (b"", TEXT),
            "/version": (b'{"version":"0.32.0"}', JSON),
            "/metrics": ((METRICS % (self._script.blocks, _mind.running, *_written)).encode(), TEXT),
            "/v1/models": (json.dumps({"object": "list", "data": [self._card(name)]}).encode(), JSON),
        }
        body, kind = pages.get(path, (b"", ""))
        return self._reply(200 if kind else 404, body, kind or TEXT)

    def _card(self, name: str) -> dict[str, object]:
        card: dict[str, object] = {"id": name, "object": "model"}
        return card | ({"max_model_len": self._served.max_model_len} if self._script.looks else {})

    def _post(self, body: dict[str, object]) -> int:
        if not self._script.looks:
            return self._answered(body)
        if refusal := _mind.refusal(body, self._served.max_model_len, self._script):
            return self._error(400, refusal)
        self._prompt_tokens = tokens(body)
        with _mind.slot(self._script):
            return self._answered(body)

    def _answered(self, body: dict[str, object]) -> int:
        if self._script.die_at_request:
            os._exit(1)
        if next(_count) <= self._script.fail_requests:
            return self._error(500, "the stub was told to fail")
        if self._script.no_pictures and "image_url" in json.dumps(body):
            return self._error(400, "stub is not a multimodal model")
        time.sleep(self._script.answer_s)
        text = self._text(body)
        _written[:] = _written[0] + 10, _written[1] + len(text.split())
        if self._script.die_after_s:
            threading.Timer(self._script.die_after_s, os._exit, (1,)).start()
        return self._stream_out(text) if body.get("stream") else self._whole(text)

    def _whole(self, text: str) -> int:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": self._script.finish}
        prompt, written = self._prompt_tokens, len(text.split())
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        table = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}
        return self._reply(200, json.dumps(table).encode(), JSON)

    def _text(self, body: dict[str, object]) -> str:
        if self._script.looks:
            return _mind.answer(body, self._script)
        if not self._script.answers:
            return self._script.answer
        import hashlib

        known: dict[str, str] = json.loads(Path(self._script.answers).read_text())
        return known.get(hashlib.sha256(picture(body)).hexdigest(), self._script.answer)

    def _stream_out(self, text: str) -> int:
        self._head(200, EVENTS)
        for word in text.split(" "):
            self._event({"choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]})
            time.sleep(self._script.token_s)
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": self._script.finish}]})
        self._stream.write(b"data: [DONE]\n\n")
        return 200

    def _event(self, table: dict[str, object]) -> None:
        self._stream.write(b"data: " + json.dumps(table).encode() + b"\n\n")
        self._stream.flush()

    def _error(self, status: int, message: str) -> int:
        return self._reply(status, json.dumps({"error": {"message": message, "code": status}}).encode(), JSON)

    def _reply(self, status: int, body: bytes, kind: str) -> int:
        self._head(status, kind, f"Content-Length: {len(body)}\r\n")
        self._stream.write(body)
        return status

    def _head(self, status: int, kind: str, more: str = "") -> None:
        head = f"HTTP/1.1 {status} Stub\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\r\n"
        self._stream.write(head.encode())


def picture(body: dict[str, object]) -> bytes:
    """The bytes of the last picture of a request."""
    import base64

    return base64.b64decode(json.dumps(body).rpartition(";base64,")[2].partition('"')[0])


def serve(served: argparse.Namespace, script: Script) -> None:
    """Listen until the process ends."""
    listener = socket.create_server((served.host, served.port))
    raw("INFO:     Application startup complete.")
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=_attend, args=(peer, served, script), daemon=True).start()


def _attend(peer: socket.socket, served: argparse.Namespace, script: Script) -> None:
    with peer, peer.makefile("rwb") as stream:
        try:
            Connection(stream, served, script).handle()  # type: ignore[arg-type]  # a BufferedRWPair reads and writes
        except (OSError, ValueError):
            return
