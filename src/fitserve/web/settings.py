"""What a reader has chosen for the page, kept beside their chats."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from fitserve.chat.said import HistoryUnwritable, said

NEW_PICTURE = ("ask", "start_over", "keep")


@dataclass(frozen=True)
class PageSettings:
    """`new_picture`: what a new picture does to what was said before it; `ask` asks once."""

    history: bool = True
    new_picture: str = "ask"

    def changed(self, wishes: dict[str, object]) -> PageSettings:
        """With what is valid among the wishes; the rest is left as it was."""
        known: dict[str, object] = {}
        if isinstance(wishes.get("history"), bool):
            known["history"] = wishes["history"]
        if wishes.get("new_picture") in NEW_PICTURE:
            known["new_picture"] = wishes["new_picture"]
        return replace(self, **known)  # type: ignore[arg-type]  # checked above

    def document(self) -> dict[str, object]:
        """As the page gets it."""
        return asdict(self)


def load_settings(path: Path) -> PageSettings:
    """From a file; the defaults where it is missing or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return PageSettings()
    known = {field.name for field in fields(PageSettings)}
    return PageSettings().changed({k: v for k, v in value.items() if k in known} if isinstance(value, dict) else {})


def save_settings(path: Path, settings: PageSettings) -> None:
    """Whole or not at all. Raises HistoryUnwritable."""
    half = path.with_suffix(".part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half.write_text(json.dumps(settings.document()), encoding="utf-8")
        half.replace(path)
    except OSError as error:
        evidence = f"{error.filename}: {error.strerror}"
        next_step = said("chat.history_unwritable_next")
        what = said("chat.history_unwritable")
        raise HistoryUnwritable(what, code="history_unwritable", evidence=evidence, next_step=next_step) from error
