"""`fitserve chat`: ask on the terminal. The answer is stdout; notices, thinking and figures are stderr."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.cli.target import DEMO, answering_target
from fitserve.errors import SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.answer import Answer
    from fitserve.chat.endpoint import Endpoint
    from fitserve.chat.images import Picture


@click.command(name="chat")
@click.argument("target", required=False, default="", metavar="[NAME|URL]")
@click.argument("question", required=False, default="", metavar="[QUESTION]")
@click.option(
    "--image", "images", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="may be repeated"
)
@click.option("--backend-url", default="", metavar="URL", help="any OpenAI endpoint, instead of a deployment")
@click.option("--model", default="", metavar="NAME", help="served model name (default: the first one served)")
@click.option("--max-tokens", type=click.IntRange(min=1), default=None, help="longest answer")
@click.option("--example", is_flag=True, help="a fresh picture of the demo's world, asked and judged")
@click.option("--full-size", is_flag=True, help="send pictures in their own size")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(
    target: str,
    question: str,
    images: tuple[Path, ...],
    backend_url: str,
    model: str,
    max_tokens: int | None,
    example: bool,
    full_size: bool,
    as_json: bool,
) -> None:
    """Ask a deployment or an OpenAI endpoint, with pictures if you like. Without a question: a conversation."""
    from fitserve.chat.images import read_picture
    from fitserve.chat.room import Room
    from fitserve.cli.chat_once import one_answer

    if backend_url and target and not question:
        target, question = "", target
    found = answering_target(target, backend_url, model)
    if example:
        from fitserve.cli.chat_example import ask_example

        ask_example(found, max_tokens)
        return
    room = found.room or Room()
    limits = room.limits.whole() if full_size else room.limits
    pictures = tuple(read_picture(path, limits) for path in images)
    if as_json and not question:
        hint = tr("chat.json_needs_question_next", target=target or DEMO)
        raise SettingsError(tr("chat.json_needs_question"), hint=hint)
    if question:
        endpoint, answer = asyncio.run(one_answer(found.endpoint, question, pictures, max_tokens, quiet=as_json))
        if as_json:
            click.echo(json.dumps(document(endpoint, answer, pictures), ensure_ascii=False, indent=2))
        return
    from fitserve.cli.chat_session import Session

    Session(found, room, pictures, limits, max_tokens).run()


def document(endpoint: Endpoint, answer: Answer, pictures: tuple[Picture, ...]) -> dict[str, object]:
    """The answer as `--json` gives it; null is what the endpoint did not tell."""
    return {
        "schema_version": 1,
        "kind": "answer",
        "model": endpoint.model,
        "url": endpoint.base_url,
        "answer": answer.text,
        "thinking": answer.thinking,
        "finish_reason": answer.finish_reason,
        "prompt_tokens": answer.usage.prompt_tokens if answer.usage else None,
        "completion_tokens": answer.usage.completion_tokens if answer.usage else None,
        "first_token_seconds": _rounded(answer.first_token_s),
        "seconds": _rounded(answer.seconds),
        "tokens_per_second": _rounded(answer.tokens_per_second),
        "pictures": [_picture(picture) for picture in pictures],
    }


def _picture(picture: Picture) -> dict[str, object]:
    return {
        **picture.facts(),
        "notices": [notice.text() for notice in picture.notices],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
