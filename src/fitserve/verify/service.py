"""The service that is verified, as its client sees it: questions, streams, metrics. One request at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fitserve.chat.answer import Event
from fitserve.chat.endpoint import Endpoint, Patience
from fitserve.chat.refusal import from_status, mapped, not_a_stream
from fitserve.chat.stream import events
from fitserve.observe.probe import progress_of

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Content = str | list[dict[str, object]]
Messages = list[dict[str, object]]
_SCRAPE_S = 5.0
_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}  # a template without that switch ignores it


@dataclass(frozen=True)
class Said:
    """An answer. Tokens are the server's own count, None where it gave none."""

    text: str
    finish: str
    prompt_tokens: int | None
    completion_tokens: int | None


class Service:
    """Talks to one endpoint. Use it as an async context."""

    def __init__(self, endpoint: Endpoint, limit_s: float) -> None:
        patience = Patience(first_token_s=limit_s, silence_s=limit_s, total_s=limit_s)
        self.endpoint = replace(endpoint, patience=patience)
        self._more: dict[str, object] = dict(_NO_THINKING)

    async def __aenter__(self) -> Service:
        self._client: AsyncClient = await self.endpoint.client().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def ask(self, content: Content | Messages, max_tokens: int = 128) -> Said:
        """One answer, at temperature 0 and without thinking where the model can do without.

        Raises NoAnswer: refused, failed, or not an answer.
        """
        reply = await self._post(_messages(content), max_tokens)
        if reply[0] == 400 and "chat_template_kwargs" in reply[1] and self._more:
            self._more = {}
            reply = await self._post(_messages(content), max_tokens)
        if reply[0] != 200:
            raise from_status(*reply, self.endpoint)
        return self._said(reply[1])

    async def _post(self, messages: Messages, max_tokens: int) -> tuple[int, str]:
        body = {"model": self.endpoint.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
        with mapped(self.endpoint):
            response = await self._client.post("/v1/chat/completions", json=body | self._more)
        return response.status_code, response.text

    def _said(self, text: str) -> Said:
        try:
            table = json.loads(text)
            choice, usage = table["choices"][0], table.get("usage") or {}
            message = choice["message"]
            said = next((message[key] for key in ("content", "reasoning", "reasoning_content") if message.get(key)), "")
            counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            return Said(str(said).strip(), str(choice.get("finish_reason") or ""), *counts)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise not_a_stream(self.endpoint, text) from error

    def stream(
        self, content: Content, max_tokens: int, more: dict[str, object] | None = None
    ) -> AsyncGenerator[Event, None]:
        """The answer in pieces; closing the generator hangs up."""
        return events(self.endpoint, _messages(content), max_tokens, more=self._more | (more or {}))

    async def metrics(self) -> str:
        """The server's own metrics; "" where it has none."""
        import httpx2

        try:
            async with asyncio.timeout(_SCRAPE_S):
                response = await self._client.get("/metrics")
        except (httpx2.HTTPError, TimeoutError):
            return ""
        return response.text if response.status_code == 200 else ""

    async def running(self) -> int | None:
        """Requests in work now; None where the server does not say."""
        progress = progress_of(await self.metrics())
        return None if progress is None else progress.running


def _messages(content: Content | Messages) -> Messages:
    """A text or parts as one user's message; messages as they are."""
    if isinstance(content, list) and content and "role" in content[0]:
        return content
    return [{"role": "user", "content": content}]


def pictured(question: str, urls: Sequence[str]) -> list[dict[str, object]]:
    """A question with pictures, as OpenAI's parts."""
    parts: list[dict[str, object]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [*parts, {"type": "text", "text": question}]
