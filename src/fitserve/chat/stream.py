"""One question to an OpenAI endpoint, its answer as events. Leaving the iteration closes the connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from fitserve.chat.answer import Answer, Event, Finish, TextDelta, ThinkingDelta, Usage
from fitserve.chat.endpoint import Endpoint
from fitserve.chat.refusal import broken_off, from_status, in_stream, mapped, not_a_stream, too_slow

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport, Response

_ERROR_BODY_LIMIT = 64 * 1024
_T = TypeVar("_T")


def body(model: str, messages: list[dict[str, object]], max_tokens: int | None = None) -> dict[str, object]:
    """The request of a streamed chat completion, with the tokens counted at its end."""
    request: dict[str, object] = {
        "model": model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if max_tokens is not None:
        request["max_tokens"] = max_tokens
    return request


async def answers(
    endpoint: Endpoint,
    messages: list[dict[str, object]],
    max_tokens: int | None = None,
    transport: AsyncBaseTransport | None = None,
) -> AsyncGenerator[Answer, None]:
    """The answer so far, again with each event. Raises NoAnswer or NoAnswerInTime."""
    loop = asyncio.get_running_loop()
    started, answer = loop.time(), Answer()
    async with aclosing(events(endpoint, messages, max_tokens, transport)) as stream:
        async for event in stream:
            answer = answer.grown(event, loop.time() - started)
            yield answer


async def events(
    endpoint: Endpoint,
    messages: list[dict[str, object]],
    max_tokens: int | None = None,
    transport: AsyncBaseTransport | None = None,
    more: Mapping[str, object] | None = None,
) -> AsyncGenerator[Event, None]:
    """Text, thinking, usage and the finish, as they come; `more` is added to the request.

    Raises NoAnswer or NoAnswerInTime.
    """
    request = body(endpoint.model, messages, max_tokens) | dict(more or {})
    finished = False
    async with endpoint.client(transport) as client:
        sending = client.build_request("POST", "/v1/chat/completions", json=request)
        with mapped(endpoint):
            response = await _in_time(client.send(sending, stream=True), endpoint.patience.first_token_s, "first")
        async with aclosing(response), aclosing(_data(response, endpoint)) as lines:
            async for data in lines:
                for event in parse_chunk(data, endpoint):
                    finished = finished or isinstance(event, Finish)
                    yield event
    if not finished:
        raise broken_off(endpoint)


def parse_chunk(data: str, endpoint: Endpoint) -> Iterator[Event]:
    """The events in one `data:` line. Raises NoAnswer where the line is an error or no JSON object."""
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise not_a_stream(endpoint, data) from error
    if not isinstance(chunk, dict):
        raise not_a_stream(endpoint, data)
    if chunk.get("error"):
        raise in_stream(chunk["error"], endpoint)
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        yield from _choice(choices[0])
    usage = chunk.get("usage")
    if isinstance(usage, dict):
        counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(counts[0], int) and isinstance(counts[1], int):
            yield Usage(counts[0], counts[1])


def _choice(choice: dict[str, object]) -> Iterator[Event]:
    delta = choice.get("delta")
    if isinstance(delta, dict):
        thought = delta.get("reasoning") or delta.get("reasoning_content")  # the old name, up to vLLM 0.11
        if isinstance(thought, str) and thought:
            yield ThinkingDelta(thought)
        content = delta.get("content")
        if isinstance(content, str) and content:
            yield TextDelta(content)
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason:
        yield Finish(reason)


async def _data(response: Response, endpoint: Endpoint) -> AsyncGenerator[str, None]:
    """The `data:` of each server-sent event up to `[DONE]`, each waited for no longer than patience allows."""
    from httpx2 import EventSource

    with mapped(endpoint):
        if response.status_code != 200:
            raise from_status(response.status_code, await _error_body(response), endpoint)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise not_a_stream(endpoint, await _error_body(response))
    loop, patience = asyncio.get_running_loop(), endpoint.patience
    ends = loop.time() + patience.total_s
    wait_s, kind = patience.first_token_s, "first"
    async with aclosing(aiter(EventSource(response))) as source:  # type: ignore[type-var]  # an async generator
        while True:
            left_s = ends - loop.time()
            with mapped(endpoint):
                event = await _in_time(anext(source, None), min(wait_s, left_s), kind if wait_s < left_s else "total")
            if event is None or event.data.strip() == "[DONE]":
                return
            if event.data:
                yield event.data
            wait_s, kind = patience.silence_s, "silence"


async def _in_time(waiting: Awaitable[_T], seconds: float, kind: str) -> _T:
    """What is awaited, or NoAnswerInTime. No `yield` stands inside: the consumer's task may change between items."""
    try:
        async with asyncio.timeout(seconds):
            return await waiting
    except TimeoutError as error:
        raise too_slow(kind, seconds) from error


async def _error_body(response: Response) -> str:
    """The beginning of a body that is no stream; a long one is not read to its end."""
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > _ERROR_BODY_LIMIT:
            break
    return read[:_ERROR_BODY_LIMIT].decode("utf-8", "replace")
