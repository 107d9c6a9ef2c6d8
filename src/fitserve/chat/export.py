"""A chat as files that outlive fitserve: Markdown to read, JSON to compute with, and its pictures beside them."""

from __future__ import annotations

from fitserve.chat.records import Chat


def as_markdown(chat: Chat, language: str | None = None) -> str:
    """Question and answer in turn, with links to `pictures/…` and the figures of each answer."""
    raise NotImplementedError


def as_document(chat: Chat) -> dict[str, object]:
    """The same as one JSON document (`kind: chat`), pictures by their file names."""
    raise NotImplementedError


def as_zip(chat: Chat, language: str | None = None) -> bytes:
    """`chat.md`, `chat.json` and `pictures/`."""
    raise NotImplementedError
