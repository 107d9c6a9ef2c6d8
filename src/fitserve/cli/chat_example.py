"""`fitserve chat demo --example`: a picture nobody has seen, its question, the answer, whether it is right."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitserve.cli.target import Target
from fitserve.errors import ProblemsFound, SettingsError
from fitserve.paths import cache_dir
from fitserve.text import current_language, tr

if TYPE_CHECKING:
    from fitserve.demo import Sample


def ask_example(found: Target, max_tokens: int | None) -> None:
    """Ask and judge. Raises SettingsError for another model than ours, ProblemsFound where the answer is wrong."""
    import asyncio

    from fitserve.chat.clean import strip_control
    from fitserve.chat.images import read_picture
    from fitserve.cli.chat_once import one_answer

    if not found.is_demo:
        raise SettingsError(tr("chat.example_demo_only"), hint="fitserve chat demo --example")
    one = _fresh()
    file = _kept(one)
    click.echo(f"{tr('chat.example_picture')}{file}")
    click.echo(f"{tr('chat.example_question')}{one.question.text}")
    asked = one_answer(found.endpoint, one.question.text, (read_picture(file),), max_tokens, quiet=True)
    _, answer = asyncio.run(asked)
    click.echo(f"{tr('chat.example_answer')}{strip_control(answer.text)}")
    if not one.is_right(answer.text):
        hint = "fitserve chat demo --example"
        raise ProblemsFound(tr("chat.example_wrong"), evidence=one.question.answer, hint=hint)
    click.secho(tr("chat.example_right"), fg="green")


def _fresh() -> Sample:
    """A picture that nobody has drawn before; never one of the training's."""
    from fitserve.demo import sample

    return sample(secrets.randbelow(1 << 39), current_language())


def _kept(one: Sample) -> Path:
    """The picture as a file that a person can open, or drop on the page."""
    file = cache_dir() / "example" / f"{one.seed}.{one.image_format.lower()}"
    file.parent.mkdir(exist_ok=True)
    for old in file.parent.iterdir():
        old.unlink()
    file.write_bytes(one.image_bytes)
    return file
