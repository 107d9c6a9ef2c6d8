"""What the page's server refuses, and the status that goes with each failure."""

from __future__ import annotations

from fitserve.chat.said import Problem
from fitserve.errors import FitserveError, NotFound, OperationFailed, SettingsError


class Invalid(Problem, SettingsError):
    """A request that makes no sense."""


class TooLarge(Problem, SettingsError):
    """A body above the limit; it was not read to its end."""


class Mistake(Problem, OperationFailed):
    """Our own."""


class Conflict(Problem, OperationFailed):
    """It can't be done just now."""


def status_of(error: FitserveError) -> int:
    """The HTTP status of a failure."""
    if isinstance(error, TooLarge):
        return 413
    if isinstance(error, Conflict):
        return 409
    if isinstance(error, NotFound):
        return 404
    return 422 if isinstance(error, SettingsError) else 502


def told(error: FitserveError, language: str) -> dict[str, object]:
    """A failure as the page gets it: what happened, the evidence, the next step."""
    if isinstance(error, Problem):
        message, following = error.what.text(language), error.next_step.text(language) if error.next_step else ""
    else:
        message, following = error.message, error.hint
    return {"code": error.code, "message": message, "evidence": error.evidence, "next": following}
