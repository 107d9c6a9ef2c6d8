"""A talk as the chat component takes it: messages, the line of notices, the header. No widget is touched here."""

from __future__ import annotations

import html
from collections.abc import Iterable

from fitserve.chat.said import Said
from fitserve.text import tr
from fitserve.web.talk import Bubble, Kind, Talk, figures

Message = dict[str, object]
_FENCE = "~~~~~~"


def messages(talk: Talk, language: str) -> list[Message]:
    """All bubbles; a waiting one where nothing has come yet."""
    shown = [_message(bubble, talk.busy and bubble is talk.bubbles[-1], language) for bubble in talk.bubbles]
    if talk.busy and talk.bubbles and talk.bubbles[-1].kind is Kind.QUESTION:
        shown.append({"role": "assistant", "content": "…"})
    return shown


def notice_line(talk: Talk, language: str) -> str:
    """Notices and figures as HTML; nothing in them is markup. The attributes tell scripts and tests where it stands."""
    lines = _paragraphs((notice.text(language) for notice in talk.notices), "notice")
    told = figures(talk.answer)
    lines += _paragraphs([told.text(language)], "figures") if told else ""
    return f"<div role='status' data-asked='{talk.asked}' data-busy='{str(talk.busy).lower()}'>{lines}</div>"


def header(model: str, url: str, is_demo: bool, language: str, problem: Said | None = None) -> str:
    """Who answers here. A model that is not there yet is told with its reason."""
    name = html.escape(model or tr("web.no_model_yet", language))
    lines = [f"<h1>fitserve <span>{name}</span></h1>"]
    if is_demo:
        lines.append(f"<p class='toy'>{html.escape(tr('chat.toy', language))}</p>")
    if problem:
        lines.append(f"<p role='alert'>{html.escape(problem.text(language))} {html.escape(url)}</p>")
    other = "zh" if language == "en" else "en"
    lines.append(
        f"<a class='language' lang='{other}' href='/{other}/'>{html.escape(tr('web.this_language', other))}</a>"
    )
    return "".join(lines)


def _paragraphs(lines: Iterable[str], name: str) -> str:
    return "".join(f"<p class='{name}'>{html.escape(line)}</p>" for line in lines)


def _message(bubble: Bubble, growing: bool, language: str) -> Message:
    if bubble.kind is Kind.QUESTION:
        files: list[object] = [{"path": str(path)} for path in bubble.files]
        return {"role": "user", "content": [*files, bubble.text] if files else bubble.text}
    if bubble.kind is Kind.THINKING:
        status = "pending" if growing else "done"
        title = tr("web.thinking", language)
        return {"role": "assistant", "content": bubble.text, "metadata": {"title": title, "status": status}}
    if bubble.kind is Kind.PROBLEM:
        return {"role": "assistant", "content": _problem(bubble, language)}
    return {"role": "assistant", "content": bubble.text or "…"}


def _problem(bubble: Bubble, language: str) -> str:
    """What happened, the engine's own line, what to do."""
    what, *steps = (sentence.text(language) for sentence in bubble.said)
    parts = [f"⚠ {what}"]
    if bubble.evidence:
        parts.append(f"{_FENCE}\n{bubble.evidence}\n{_FENCE}")
    parts += [f"{tr('failure.next', language)} {step}" for step in steps]
    return "\n\n".join(parts)
