"""The same bytes give the same reply however they were cut, and no bytes at all can crash the reading."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.measure.replies import NotAReply, Reply, body_of, read
from fitserve.measure.wire import Exchange

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(table: object) -> bytes:
    return b"data: " + json.dumps(table, ensure_ascii=False).encode() + b"\n\n"


def chunked(*parts: bytes) -> bytes:
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"


def delta(**fields: object) -> bytes:
    return event({"choices": [{"delta": fields}]})


WHOLE = HEAD + chunked(
    delta(role="assistant", content=""),
    delta(reasoning="想一想 "),
    delta(content="红色"),
    delta(content="的。"),
    event({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    event({
        "choices": [],
        "usage": {
            "prompt_tokens": 90,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 16, "multimodal_tokens": {"image": 64}},
        },
    }),
    b"data: [DONE]\n\n",
)  # fmt: skip


def cut(data: bytes, places: list[int]) -> Exchange:
    marks = sorted({0, len(data), *(place % len(data) for place in places)})
    pieces = [(float(end), data[start:end]) for start, end in pairwise(marks)]
    return Exchange(0.0, 0.0, tuple(pieces), float(len(data)))


def reply(exchange: Exchange) -> Reply:
    last = list(read(exchange))[-1]
    assert last is not None
    return last


@given(st.lists(st.integers(0, 10_000), max_size=40))
def test_any_cut_gives_the_same_reply(places: list[int]) -> None:
    got = reply(cut(WHOLE, places))
    assert (got.text, got.finish_reason) == ("想一想 红色的。", "stop")
    assert (got.prompt_tokens, got.completion_tokens, got.image_tokens, got.cached_tokens) == (90, 5, 64, 16)
    assert len(got.times_s) == 3 and list(got.times_s) == sorted(got.times_s)


def test_tokens_without_text_take_their_time() -> None:
    """After `ignore_eos` has carried a model past its end, its tokens have no text."""
    parts = [delta(role="assistant", content=""), delta(content="red"), delta(content=""), delta(content="")]
    parts += [event({"choices": [{"delta": {}, "finish_reason": "length"}]}), b"data: [DONE]\n\n"]
    got = reply(cut(HEAD + chunked(*parts), []))
    assert (got.text, len(got.times_s)) == ("red", 3)


def test_a_piece_has_the_time_at_which_it_was_whole() -> None:
    first = WHOLE.index("红".encode())
    assert reply(cut(WHOLE, [first, first + 20])).times_s[1] > first


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_no_bytes_crash_it(data: bytes, places: list[int]) -> None:
    for start in (b"", HEAD, HEAD + b"10\r\ndata: "):
        whole = start + data
        if whole:
            with pytest.raises(NotAReply):
                reply(cut(whole, places))


def test_the_status_and_the_endpoints_words_are_kept() -> None:
    body = b'{"error":{"message":"maximum context length is 4096"}}'
    data = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with pytest.raises(NotAReply) as caught:
        reply(cut(data, [30, 60]))
    assert (caught.value.status, caught.value.text) == (400, body.decode())


def test_an_error_in_the_stream() -> None:
    with pytest.raises(NotAReply) as caught:
        reply(cut(HEAD + chunked(delta(content="a"), event({"error": {"message": "boom"}})), []))
    assert caught.value.in_stream and "boom" in caught.value.text


def test_a_plain_body() -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"vllm:a 1\n", b"vllm:b 2\n")
    assert body_of(cut(data, [50, 70])) == (200, b"vllm:a 1\nvllm:b 2\n")
