"""A sentence that is not yet in a language: a page talks to several readers at once, each in their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitserve.errors import FitserveError, NotFound, OperationFailed, SettingsError, TimedOut
from fitserve.text import tr


@dataclass(frozen=True)
class Said:
    """A key of the catalogue and its values."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    def text(self, language: str | None = None) -> str:
        """The sentence in `language`, or in the one in force."""
        return tr(self.key, language, **dict(self.values))


def said(key: str, /, **values: object) -> Said:
    """`said("chat.shrunk", before="4032x3024", after="1024x768")`."""
    return Said(key, tuple(values.items()))


class Problem(FitserveError):
    """A failure that can be told in any language: `what` happened, `next_step` is what to do."""

    def __init__(self, what: Said, *, code: str, evidence: str = "", next_step: Said | None = None) -> None:
        super().__init__(what.text(), code=code, evidence=evidence, hint=next_step.text() if next_step else "")
        self.what = what
        self.next_step = next_step


class PictureRefused(Problem, SettingsError):
    """A file that is not a picture we can send."""


class PictureMissing(Problem, NotFound):
    """There is no such file."""


class NoAnswer(Problem, OperationFailed):
    """The endpoint did not answer, or refused the question."""


class NoAnswerInTime(Problem, TimedOut):
    """The endpoint was given its time and did not use it."""


class ChatMissing(Problem, NotFound):
    """The chat is not on the shelf, or no longer."""


class HistoryUnwritable(Problem, OperationFailed):
    """The disk does not take what is to be kept."""
