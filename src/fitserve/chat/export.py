"""A chat as files that outlive fitserve: Markdown to read and JSON to compute with.

Alone, each holds its pictures itself; in the archive they lie beside both.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import asdict
from datetime import UTC, datetime

from fitserve.chat.clean import strip_control
from fitserve.chat.conversation import Turn
from fitserve.chat.harmless import harmless, harmless_line
from fitserve.chat.images import Picture
from fitserve.chat.records import SCHEMA_VERSION, Chat
from fitserve.text import tr

_UNSAFE = re.compile(r"[^\w.-]+")
_MARKUP = "[]<>`\\!"  # what a picture's name does not need
_FENCE = re.compile(r"`{3,}")


def as_markdown(chat: Chat, language: str | None = None, alone: bool = True) -> str:
    """Question and answer in turn; what was thought is quoted. `alone`: with the pictures at its end."""
    title = harmless_line(_one_line(chat.name)) or tr("chat.export_untitled", language)
    lines = [f"# {title}", "", f"*{_time(chat.created)}*", ""]
    for number, turn in enumerate(chat.conversation.turns, 1):
        lines += [f"## {number}. {tr('chat.export_question', language)}", ""]
        lines += [f"![{_one_line(one.name, _MARKUP)}]{_place(one, alone)}" for one in turn.pictures]
        lines += [*_fenced(strip_control(turn.question)), ""]
        model = f" ({harmless_line(_one_line(turn.figures.model))})" if turn.figures.model else ""
        lines += [f"### {tr('chat.export_answer', language)}{model}", ""]
        if turn.thinking:
            lines += [*(f"> {line}" for line in harmless(strip_control(turn.thinking)).split("\n")), ""]
        lines += [harmless(strip_control(turn.answer)) or f"*{tr('chat.export_unanswered', language)}*", ""]
        if turn.unfinished:
            lines += [f"*{turn.unfinished.text(language)}*", ""]
    if alone:
        lines += [f"[{one.digest[:16]}]: {one.data_url}" for one in _pictures(chat)]
    return "\n".join(lines)


def as_document(chat: Chat, alone: bool = True) -> dict[str, object]:
    """The same as one JSON document; null is what nobody counted. `alone`: pictures are data URLs, else files."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "chat",
        "id": chat.id,
        "title": chat.name,
        "created": _time(chat.created),
        "updated": _time(chat.updated),
        "system": chat.conversation.system,
        "sent_from_turn": chat.conversation.since,
        "turns": [_turn(turn, alone) for turn in chat.conversation.turns],
    }


def as_zip(chat: Chat, language: str | None = None) -> bytes:
    """`chat.md`, `chat.json` and `pictures/`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("chat.md", as_markdown(chat, language, alone=False))
        files.writestr("chat.json", json.dumps(as_document(chat, alone=False), ensure_ascii=False, indent=2))
        for picture in _pictures(chat):
            files.writestr(picture_file(picture), picture.data, zipfile.ZIP_STORED)
    return buffer.getvalue()


def file_stem(chat: Chat) -> str:
    """A name for the exported file: the title's letters and the day."""
    stem = _UNSAFE.sub("-", chat.name).strip("-.")[:40] or "chat"
    return f"{stem}-{_time(chat.created)[:10]}"


def picture_file(picture: Picture) -> str:
    """Where the picture lies in the zip: by its content, so that no name of a person's file can lead elsewhere."""
    return f"pictures/{picture.digest[:16]}.{'jpg' if picture.media_type == 'image/jpeg' else 'png'}"


def _pictures(chat: Chat) -> list[Picture]:
    """Each once, in order; those whose file is gone are left out."""
    found = {one.digest: one for turn in chat.conversation.turns for one in turn.pictures if one.data}
    return list(found.values())


def _place(picture: Picture, alone: bool) -> str:
    return f"[{picture.digest[:16]}]" if alone else f"({picture_file(picture)})"


def _turn(turn: Turn, alone: bool) -> dict[str, object]:
    return {
        "question": turn.question,
        "pictures": [_picture(picture, alone) for picture in turn.pictures],
        "answer": turn.answer,
        "thinking": turn.thinking,
        **asdict(turn.figures),
    }


def _picture(picture: Picture, alone: bool) -> dict[str, object]:
    where = picture.data_url if alone else picture_file(picture)
    return {
        "url": where if picture.data else None,
        **picture.facts(),
    }


def _fenced(question: str) -> list[str]:
    """The reader's words as they were typed: in a fence longer than any in them."""
    longest = max((len(found) for found in _FENCE.findall(question)), default=2)
    return ["`" * (longest + 1) + "text", question, "`" * (longest + 1)]


def _one_line(text: str, without: str = "") -> str:
    plain = strip_control(" ".join(text.split()))
    return " ".join("".join(" " if char in without else char for char in plain).split())


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
