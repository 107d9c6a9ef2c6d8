"""Chats as the page gets them: JSON documents in the reader's language. The shapes stand in `docs/page.md`."""

from __future__ import annotations

from dataclasses import asdict

from fitserve.chat.conversation import Turn
from fitserve.chat.images import Picture
from fitserve.chat.meter import Meter
from fitserve.chat.records import Chat
from fitserve.web.open_chat import OpenChat
from fitserve.web.refused import told

Document = dict[str, object]


def chat_document(opened: OpenChat, language: str) -> Document:
    """A chat with all its turns."""
    chat, talk = opened.chat, opened.chat.conversation
    return {
        **entry_document(chat, opened.answering),
        "title": chat.title,
        "version": opened.version,
        "since": talk.since,
        "since_before": talk.since_before,
        "can_undo": talk.undo is not None,
        "turns": turn_documents(opened, language),
        "problem": told(opened.problem, language) if opened.problem else None,
        "notices": [notice.text(language) for notice in opened.notices],
        "meter": meter_document(opened.meter) if opened.meter else None,
    }


def entry_document(chat: Chat, answering: bool) -> Document:
    """A chat as it stands in the list."""
    turns = len(chat.conversation.turns)
    return {"id": chat.id, "name": chat.name, "updated": chat.updated, "turns": turns, "answering": answering}


def turn_documents(opened: OpenChat, language: str) -> list[Document]:
    """All turns; an answer that still grows is not an unfinished one."""
    since, chat_id = opened.chat.conversation.since, opened.chat.id
    turns = [turn_document(turn, at >= since, chat_id, language) for at, turn in enumerate(opened.turns)]
    if turns and opened.answering:
        turns[-1]["unfinished"] = ""
    return turns


def turn_document(turn: Turn, in_context: bool, chat_id: str, language: str) -> Document:
    """One question and its answer."""
    return {
        "question": turn.question,
        "pictures": [picture_document(one, f"api/chats/{chat_id}/pictures", language) for one in turn.pictures],
        "answer": turn.answer,
        "thinking": turn.thinking,
        "sent": in_context,
        "figures": turn.figures.line.text(language) if turn.figures.line else "",
        "model": turn.figures.model,
        "ended": turn.figures.finish_reason,
        "unfinished": turn.unfinished.text(language) if turn.unfinished else "",
    }


def picture_document(picture: Picture, folder: str, language: str) -> Document:
    """A picture with its cost; `url` is relative to the page's root."""
    return {
        "id": picture.digest,
        **picture.facts(),
        "whole_tokens": picture.whole_tokens,
        "takes_whole": picture.takes_whole,
        "cost": picture.cost.text(language),
        "notices": [notice.text(language) for notice in picture.notices],
        "url": f"/{folder}/{picture.digest}",
    }


def meter_document(meter: Meter) -> Document:
    """What fills the window."""
    return {
        "parts": [asdict(part) for part in meter.parts],
        "window": meter.window,
        "used": meter.used,
        "reserve": meter.reserve,
        "estimated": meter.estimated,
        "nearly_full": meter.nearly_full,
        "pictures": meter.pictures,
        "most_pictures": meter.most_pictures,
        "too_many_pictures": meter.too_many_pictures,
        "fits": meter.fits,
        "since_after_drop": meter.since_after_drop(),
    }
