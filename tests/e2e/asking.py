"""Questions about fresh pictures of the demo's world, straight to an OpenAI endpoint."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import httpx2

from fitserve.demo import Language, Sample, sample

FRESH = 7_000_000  # far from the training seeds


@dataclass(frozen=True)
class Answer:
    """What came back: the text, and per token the two best log-probabilities."""

    text: str
    tokens: tuple[str, ...]
    best: tuple[tuple[float, float], ...]


def fresh(count: int, language: Language, first: int = FRESH) -> list[Sample]:
    return [sample(first + number, language) for number in range(count)]


def ask(client: httpx2.Client, url: str, model: str, one: Sample) -> Answer:
    picture = f"data:{one.mime_type};base64,{base64.b64encode(one.image_bytes).decode()}"
    content = [
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "text", "text": one.question.text},
    ]
    body = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "temperature": 0,
        "max_tokens": 40,
        "logprobs": True,
        "top_logprobs": 2,
    }
    reply = client.post(f"{url}/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    choice = reply.json()["choices"][0]
    tokens = choice["logprobs"]["content"]
    best = tuple((token["top_logprobs"][0]["logprob"], token["top_logprobs"][1]["logprob"]) for token in tokens)
    return Answer(choice["message"]["content"], tuple(token["token"] for token in tokens), best)
