"""What an endpoint serves: `/v1/models`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fitserve.chat.endpoint import Endpoint
from fitserve.chat.refusal import from_status, mapped, not_a_stream, too_slow

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

_WAIT_S = 10.0


@dataclass(frozen=True)
class ServedModel:
    """A model by its served name. `max_model_len` is None where the endpoint does not say (only vLLM does)."""

    name: str
    max_model_len: int | None = None


async def served_models(endpoint: Endpoint, transport: AsyncBaseTransport | None = None) -> tuple[ServedModel, ...]:
    """All served models. Raises NoAnswer or NoAnswerInTime."""
    async with endpoint.client(transport) as client:
        with mapped(endpoint):
            try:
                async with asyncio.timeout(_WAIT_S):
                    response = await client.get("/v1/models")
            except TimeoutError as error:
                raise too_slow("first", _WAIT_S) from error
    if response.status_code != 200:
        raise from_status(response.status_code, response.text, endpoint)
    try:
        cards = json.loads(response.text)["data"]
        models = tuple(ServedModel(str(card["id"]), _length(card.get("max_model_len"))) for card in cards)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise not_a_stream(endpoint, response.text) from error
    if not models:
        raise not_a_stream(endpoint, response.text)
    return models


async def with_model(endpoint: Endpoint, transport: AsyncBaseTransport | None = None) -> Endpoint:
    """The endpoint with a model's name in it, asked for where it has none."""
    if endpoint.model:
        return endpoint
    return replace(endpoint, model=(await served_models(endpoint, transport))[0].name)


def _length(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
