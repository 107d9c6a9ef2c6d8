"""One question in a conversation of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitserve.cli.target import DEMO
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.answer import Answer
    from fitserve.chat.endpoint import Endpoint
    from fitserve.chat.images import Picture


async def one_answer(
    endpoint: Endpoint, question: str, pictures: tuple[Picture, ...], max_tokens: int | None, quiet: bool = False
) -> tuple[Endpoint, Answer]:
    """Ask, show the answer while it comes, and return it with the endpoint's model found. Raises NoAnswer."""
    from fitserve.chat.conversation import Conversation, OnNewPicture
    from fitserve.chat.models import with_model
    from fitserve.cli.chat_screen import Screen

    endpoint = await with_model(endpoint)
    screen = Screen(quiet)
    if endpoint.model == DEMO:
        screen.note(tr("chat.toy"))
    screen.pictures(pictures)
    messages = Conversation().ask(question, pictures, OnNewPicture.START_OVER).messages()
    return endpoint, await screen.show(endpoint, messages, max_tokens)
