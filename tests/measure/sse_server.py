"""An OpenAI endpoint with programmed latencies that counts itself as vLLM does. No model, no picture read.

Run as a script it serves until it is killed (`benchmarks/load.py` does that); the tests run it on virtual time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Programme:
    """What one request gets. Seconds; `stamps` puts the clock at sending into each token's text."""

    first_s: float = 0.05
    gap_s: float = 0.01
    tokens: int = 8
    status: int = 200
    text: str = "word "
    breaks: bool = False  # closes in mid-answer
    stamps: bool = False
    pad: str = ""


@dataclass
class Endpoint:
    """`programme` gets the number of the request (from 0) and its body."""

    programme: Callable[[int, dict], Programme] = lambda _number, _body: Programme()
    prompt_tokens: Callable[[dict], int] = lambda _body: 20
    miscount: int = 1  # the server's own counters are multiplied by this
    seen: list[dict] = field(default_factory=list)
    totals: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_COUNTERS, 0.0))

    async def serve(self, port: int = 0) -> asyncio.Server:
        return await asyncio.start_server(self._handle, "127.0.0.1", port, backlog=512)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0].partition(b":")[2])) if lengths else b""
            await self._answer(head.split()[1].decode(), body, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/v1/models":
            _whole(writer, 200, json.dumps({"data": [{"id": "stub", "max_model_len": 4096}]}))
        elif path == "/metrics":
            _whole(writer, 200, self.metrics(), "text/plain")
        elif path == "/version":
            _whole(writer, 200, json.dumps({"version": "0.32.0"}))
        elif path == "/v1/chat/completions":
            await self._chat(json.loads(body), writer)
        else:
            _whole(writer, 404, json.dumps({"detail": "Not Found"}))

    async def _chat(self, request: dict, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        plan = self.programme(len(self.seen), request)
        self.seen.append(request)
        request.setdefault("max_tokens", request.get("max_completion_tokens"))  # as `vllm bench` calls it
        if plan.status != 200:
            _whole(writer, plan.status, json.dumps({"error": {"message": "programmed refusal"}}))
            return
        tokens = request["max_tokens"] if request.get("ignore_eos") else min(plan.tokens, request["max_tokens"])
        began = loop.time()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        _event(writer, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for number in range(tokens):
            due = began + plan.first_s + number * plan.gap_s
            await asyncio.sleep(due - loop.time())
            text = f"{loop.time():.6f} " if plan.stamps else plan.text
            _event(writer, {"choices": [{"index": 0, "delta": {"content": text}}], "pad": plan.pad})
            if plan.breaks and number == 1:
                return
        await self._end(request, tokens, plan, writer)

    async def _end(self, request: dict, tokens: int, plan: Programme, writer: asyncio.StreamWriter) -> None:
        prompt = self.prompt_tokens(request)
        reason = "length" if tokens == request["max_tokens"] else "stop"
        _event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        _event(writer, {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": tokens}})
        _chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        self._count(prompt, tokens, plan)

    def _count(self, prompt: int, tokens: int, plan: Programme) -> None:
        for name, value in {
            "vllm:prompt_tokens_total": prompt,
            "vllm:generation_tokens_total": tokens,
            'vllm:request_success_total{finished_reason="stop"}': 1,
            "vllm:time_to_first_token_seconds_sum": plan.first_s,
            "vllm:time_to_first_token_seconds_count": 1,
            "vllm:e2e_request_latency_seconds_sum": plan.first_s + (tokens - 1) * plan.gap_s,
            "vllm:e2e_request_latency_seconds_count": 1,
        }.items():
            self.totals[name] += value * self.miscount

    def metrics(self) -> str:
        """Prometheus text, as vLLM writes it."""
        return "".join(f"{_labelled(name)} {value}\n" for name, value in self.totals.items())


_COUNTERS = (
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    'vllm:request_success_total{finished_reason="stop"}',
    "vllm:time_to_first_token_seconds_sum",
    "vllm:time_to_first_token_seconds_count",
    "vllm:e2e_request_latency_seconds_sum",
    "vllm:e2e_request_latency_seconds_count",
    "vllm:num_preemptions_total",
    "vllm:prefix_cache_hits_total",
    "vllm:mm_cache_hits_total",
)


def _labelled(name: str) -> str:
    if "{" in name:
        return name.replace("{", '{engine="0",model_name="stub",')
    return name + '{engine="0",model_name="stub"}'


def _whole(writer: asyncio.StreamWriter, status: int, body: str, kind: str = "application/json") -> None:
    data = body.encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + data)


def _event(writer: asyncio.StreamWriter, table: dict) -> None:
    _chunk(writer, b"data: " + json.dumps(table).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def main() -> None:
    """`sse_server.py TOKENS_PER_SECOND`: prints its port, then serves with stamps in every token."""
    rate = float(sys.argv[1])
    pad = "x" * 120  # with it an event is as long as vLLM's
    endpoint = Endpoint(lambda _number, _body: Programme(0.1, 1 / rate, stamps=True, pad=pad))
    server = await endpoint.serve()
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
