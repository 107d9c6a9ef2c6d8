"""What comes in with a request: JSON and files under limits, the language, who asks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fitserve.chat.said import said
from fitserve.units import MIB, format_bytes
from fitserve.web.guard import preferred_language
from fitserve.web.reader import Reader, reader_of
from fitserve.web.refused import Invalid, TooLarge

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request

JSON_LIMIT = 4 * MIB
PICTURE_LIMIT = 64 * MIB
Fields = dict[str, object]


def language_of(request: HTTPConnection) -> str:
    """Of the request; our page says which it speaks."""
    return preferred_language(request.headers.get("accept-language", ""))


def reader_of_request(request: HTTPConnection) -> Reader:
    """By their cookie."""
    return reader_of(request.headers.get("cookie", ""))


async def body_of(request: Request, limit: int) -> bytes:
    """The whole body. Raises TooLarge without reading further than the limit."""
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told) > limit:
        raise _too_large(limit)
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            raise _too_large(limit)
    return bytes(data)


async def fields_of(request: Request) -> Fields:
    """A JSON object; an empty body is an empty one. Raises Invalid."""
    data = await body_of(request, JSON_LIMIT)
    try:
        value = json.loads(data) if data else {}
    except ValueError as error:
        raise Invalid(said("page.no_json"), code="no_json", evidence=str(error)) from error
    if not isinstance(value, dict):
        raise Invalid(said("page.no_json"), code="no_json", evidence=type(value).__name__)
    return value


def text_in(fields: Fields, name: str, default: str = "") -> str:
    """A text. Raises Invalid where it is something else."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise _wrong(name)
    return value.encode("utf-8", "replace").decode()  # a lone half of a surrogate pair can't be sent on


def number_in(fields: Fields, name: str) -> int:
    """A whole number. Raises Invalid where it is missing or something else."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(name)
    return value


def names_in(fields: Fields, name: str) -> list[str]:
    """A list of texts. Raises Invalid where it is something else."""
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _wrong(name)
    return value


def _wrong(name: str) -> Invalid:
    return Invalid(said("page.wrong_field", name=name), code="wrong_field", evidence=name)


def _too_large(limit: int) -> TooLarge:
    most = format_bytes(limit)
    next_step = said("page.body_too_large_next", limit=most)
    return TooLarge(said("page.body_too_large", limit=most), code="body_too_large", next_step=next_step)
