"""Every failure a person can meet, as one tree.

    FitserveError           code            exit
    ├── OperationFailed     failed           1
    ├── SettingsError       settings         2   bad flags, bad fitserve.toml, bad request
    ├── NotFound            not_found        3   no such model, deployment or file
    ├── DoesNotFit          does_not_fit     4
    ├── ProblemsFound       problems_found   5   ran, and found problems
    ├── TimedOut            timed_out        6
    ├── ToolMissing         tool_missing     7   a needed tool, driver or engine
    └── Interrupted         interrupted    130

`code` may be narrowed by the raiser ("port_in_use" is an OperationFailed). The sentence is already in the reader's
language: it comes from a text catalogue. `evidence` is the line or value that proves it, never translated; `hint` is
the next command to type.
"""

from __future__ import annotations


class FitserveError(Exception):
    """A failure with what happened (`message`), the evidence, and the next command (`hint`)."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, code: str | None = None, evidence: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.evidence = evidence
        self.hint = hint


class OperationFailed(FitserveError):
    """It was tried and did not work."""


class SettingsError(FitserveError):
    """What was asked for is not valid."""

    code, exit_code = "settings", 2


class NotFound(FitserveError):
    """No such model, deployment or file."""

    code, exit_code = "not_found", 3


class DoesNotFit(FitserveError):
    """The plan does not fit the machine."""

    code, exit_code = "does_not_fit", 4


class ProblemsFound(FitserveError):
    """A check ran to its end and found problems."""

    code, exit_code = "problems_found", 5


class TimedOut(FitserveError):
    """It did not come to an end in the time allowed."""

    code, exit_code = "timed_out", 6


class ToolMissing(FitserveError):
    """A needed tool, driver or engine is not there."""

    code, exit_code = "tool_missing", 7


class Interrupted(FitserveError):
    """The person stopped it."""

    code, exit_code = "interrupted", 130
