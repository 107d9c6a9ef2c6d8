"""The stub's HTTP: /health, /version, /v1/models, /v1/chat/completions (whole and streamed), /metrics."""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.server
import itertools
import json
import os
import time
from pathlib import Path

from vllm.said import raw
from vllm.script import Script

METRICS = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",engine="0",kv_cache_size_tokens="883011",num_gpu_blocks="6899"} 1.0
vllm:num_requests_running{engine="0",model_name="stub"} 0.0
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    served: argparse.Namespace
    script: Script
    asked = itertools.count(1)

    def do_GET(self) -> None:
        name = self.served.served_model_name or self.served.model
        pages = {
            "/health": (b"", "text/plain"),
            "/version": (b'{"version":"0.32.0"}', "application/json"),
            "/metrics": (METRICS.encode(), "text/plain"),
            "/v1/models": (json.dumps({"object": "list", "data": [{"id": name}]}).encode(), "application/json"),
        }
        body, kind = pages.get(self.path, (b"", ""))
        self._reply(200 if kind else 404, body, kind or "text/plain")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.script.die_at_request:
            os._exit(1)
        if next(self.asked) <= self.script.fail_requests:
            self._error(500, "the stub was told to fail")
        elif self.script.no_pictures and "image_url" in json.dumps(body):
            self._error(400, "stub is not a multimodal model")
        else:
            time.sleep(self.script.answer_s)
            self._answer(body)

    def _answer(self, body: dict[str, object]) -> None:
        text = self._text(body)
        if body.get("stream"):
            self._stream(text)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": self.script.finish}
        usage = {"prompt_tokens": 10, "completion_tokens": len(text.split())}
        self._reply(200, json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode())

    def _text(self, body: dict[str, object]) -> str:
        if not self.script.answers:
            return self.script.answer
        known: dict[str, str] = json.loads(Path(self.script.answers).read_text())
        return known.get(hashlib.sha256(picture(body)).hexdigest(), self.script.answer)

    def _stream(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for word in text.split(" "):
            self._event({"choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]})
            time.sleep(self.script.token_s)
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": self.script.finish}]})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, table: dict[str, object]) -> None:
        self.wfile.write(b"data: " + json.dumps(table).encode() + b"\n\n")

    def _error(self, status: int, message: str) -> None:
        self._reply(status, json.dumps({"error": {"message": message, "code": status}}).encode())

    def _reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        raw(f"INFO:     {self.client_address[0]} - {format % args}")


def picture(body: dict[str, object]) -> bytes:
    """The bytes of the last picture of a request."""
    text = json.dumps(body)
    data = text.rpartition(";base64,")[2].partition('"')[0]
    return base64.b64decode(data)


def serve(served: argparse.Namespace, script: Script) -> None:
    """Listen until the process ends."""
    Handler.served, Handler.script = served, script
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    with http.server.ThreadingHTTPServer((served.host, served.port), Handler) as server:
        raw("INFO:     Application startup complete.")
        server.daemon_threads = True
        server.serve_forever()
