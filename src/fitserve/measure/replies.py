"""From stamped bytes to a reply: HTTP head, chunks, server-sent events, tokens. The same however the bytes were cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from fitserve.measure.wire import Exchange

_TEXT_LIMIT = 64 * 1024


class NotAReply(Exception):
    """What came is not an answer: a status that is not 200, an error in the stream, no stream, or its early end."""

    def __init__(self, text: str, *, status: int | None = None, in_stream: bool = False, broken: bool = False) -> None:
        super().__init__(text)
        self.text, self.status, self.in_stream, self.broken = text, status, in_stream, broken


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None  # vLLM's name up to 0.11


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    multimodal_tokens: dict[str, int] | None = None  # vLLM 0.32 with --enable-prompt-tokens-details


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: object = None


_DECODER = msgspec.json.Decoder(_Chunk)


@dataclass(frozen=True)
class Reply:
    """A streamed answer. `times_s` has one entry a piece, of the loop's clock: the first with text, and all after it.

    Unknown counts are None.
    """

    text: str
    times_s: tuple[float, ...]
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    image_tokens: int | None = None
    cached_tokens: int | None = None


def read(exchange: Exchange) -> Iterator[Reply | None]:
    """None after each event, so that a reader can look up from its work; the reply at the end.

    Raises NotAReply with the status and the first line of what the endpoint said.
    """
    head, body = split_head(exchange.pieces)
    status, chunked, stream = head
    pieces = dechunked(body) if chunked else body
    if status != 200 or not stream:
        said = _line(b"".join(data for _, data in pieces))
        raise NotAReply(said, status=None if status == 200 else status)
    yield from _streamed(pieces)


def body_of(exchange: Exchange) -> tuple[int, bytes]:
    """Status and whole body of a plain response. Raises NotAReply."""
    (status, chunked, _), body = split_head(exchange.pieces)
    return status, b"".join(data for _, data in (dechunked(body) if chunked else body))


def split_head(pieces: tuple[tuple[float, bytes], ...]) -> tuple[tuple[int, bool, bool], list[tuple[float, bytes]]]:
    """(status, chunked, event stream) and the pieces of the body. Raises NotAReply."""
    joined = b""
    for index, (time_s, data) in enumerate(pieces):
        joined += data
        head, found, rest = joined.partition(b"\r\n\r\n")
        if found:
            return _head(head), [(time_s, rest), *pieces[index + 1 :]]
    raise NotAReply(_line(joined), broken=not joined)


def _head(head: bytes) -> tuple[int, bool, bool]:
    first, *lines = head.lower().split(b"\r\n")
    words = first.split()
    if len(words) < 2 or not words[0].startswith(b"http/") or not words[1].isdigit():
        raise NotAReply(_line(head))
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    chunked = b"chunked" in headers.get(b"transfer-encoding", b"")
    return int(words[1]), chunked, headers.get(b"content-type", b"").startswith(b"text/event-stream")


def dechunked(pieces: list[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """The chunks' contents, each with the time at which it was complete. Raises NotAReply."""
    waiting = b""
    for time_s, data in pieces:
        waiting += data
        while True:
            size, found, rest = waiting.partition(b"\r\n")
            if not found:
                break
            length = _chunk_length(size)
            if len(rest) < length + 2:
                break
            if length:
                yield time_s, rest[:length]
            waiting = rest[length + 2 :]


def _chunk_length(size: bytes) -> int:
    try:
        return int(size.partition(b";")[0], 16)
    except ValueError as error:
        raise NotAReply(_line(size)) from error


def _events(pieces: Iterator[tuple[float, bytes]] | list[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """The `data:` of each event. vLLM sends one line an event; CRLF is taken too."""
    waiting = b""
    for time_s, data in pieces:
        *lines, waiting = (waiting + data).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield time_s, line[5:].strip()


def _streamed(pieces: Iterator[tuple[float, bytes]] | list[tuple[float, bytes]]) -> Iterator[Reply | None]:
    texts: list[str] = []
    times: list[float] = []
    finish, usage = "", None
    for time_s, data in _events(pieces):
        if data == b"[DONE]":
            break
        chunk = _chunk(data)
        text, reason = _said(chunk)
        if text or (texts and text is not None):
            texts.append(text)
            times.append(time_s)
        finish, usage = reason or finish, chunk.usage or usage
        yield None
    if not finish:
        raise NotAReply("", broken=True)
    yield _reply("".join(texts), tuple(times), finish, usage)


def _chunk(data: bytes) -> _Chunk:
    try:
        chunk = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAReply(_line(data)) from error
    if chunk.error:
        raise NotAReply(_line(data), in_stream=True)
    return chunk


def _said(chunk: _Chunk) -> tuple[str | None, str]:
    """The text and the reason of the end. None: not even an empty text, so no token of the model either.

    A token may have no text: a special one, or the first bytes of a letter. An answer of exactly so many tokens goes on
    after the model's own end with nothing but those.
    """
    if not chunk.choices:
        return None, ""
    choice = chunk.choices[0]
    delta = choice.delta or _Delta()
    parts = [part for part in (delta.reasoning or delta.reasoning_content, delta.content) if part is not None]
    return "".join(parts) if parts else None, choice.finish_reason or ""


def _reply(text: str, times: tuple[float, ...], finish: str, usage: _Usage | None) -> Reply:
    if usage is None:
        return Reply(text, times, finish)
    details = usage.prompt_tokens_details or _Details()
    images = (details.multimodal_tokens or {}).get("image")
    return Reply(text, times, finish, usage.prompt_tokens, usage.completion_tokens, images, details.cached_tokens)


def _line(data: bytes) -> str:
    return data[:_TEXT_LIMIT].decode("utf-8", "replace")
