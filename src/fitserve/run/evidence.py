"""The line that shows why an engine died: the first error of the first traceback, not the wrapper at the end."""

from __future__ import annotations

import re
from collections import deque

from fitserve.run.live import Evidence

_PREFIX = re.compile(r"^\([^)]*pid=\d+\)\s*")
_HEAD = re.compile(r"^(?:ERROR|CRITICAL)\s+\d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\]\s*")
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt|Exit|Timeout)(?P<said>: .*)?$")
_USAGE = re.compile(r"^\S+\.py: error: ")
_IDLE_WORDS = re.compile(r"^(?:INFO|DEBUG)\b|\bresource_tracker\b")  # what an engine writes that is ended in good order
_WRAPPERS = (
    "Engine core initialization failed",
    "WorkerProc initialization failed",
    "See root cause above",
    "EngineDeadError",
)
CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STRETCH = 400  # lines: longer than vLLM's tracebacks of one death
_LONGEST = 500  # characters kept of a line


class Witness:
    """Listens to the log. `best` is the root as far as it is known."""

    def __init__(self) -> None:
        self._line = 0
        self._raised: deque[Evidence] = deque(maxlen=200)
        self._error: Evidence | None = None  # a line of level ERROR
        self._wrapper: Evidence | None = None
        self._last = Evidence()
        self._code = ""  # the line before, without the marks under it

    def feed(self, line: str) -> None:
        """Take the next line of the log."""
        self._line += 1
        text = clean(line)
        if not text.strip():
            return
        self._last = Evidence(text, self._line)
        body = _HEAD.sub("", _PREFIX.sub("", text)).strip()
        raised = _RAISED.match(body)
        if raised and not raised["said"] and self._code:
            self._last = Evidence(f"{text}  ←  {self._code}", self._line)  # a bare error: what raised it says more
        if raised or _USAGE.match(body):
            self._note_raised(body)
        elif self._error is None and _HEAD.match(_PREFIX.sub("", text)):
            self._error = self._last
        if body.strip("^~ "):
            self._code = body

    def _note_raised(self, body: str) -> None:
        if any(phrase in body for phrase in _WRAPPERS):
            self._wrapper = self._wrapper or self._last
        else:
            self._raised.append(self._last)

    @property
    def best(self) -> Evidence:
        """The root, else a wrapper, else an error line, else the last words if they can say why: else nothing.

        The root is the first exception of the last stretch of the log: one of hours ago is not why it died now.
        """
        root = next((one for one in self._raised if one.line > self._line - _STRETCH), None)
        return root or self._wrapper or self._error or self._last_words

    @property
    def _last_words(self) -> Evidence:
        return Evidence() if _IDLE_WORDS.search(_PREFIX.sub("", self._last.text)) else self._last


def clean(line: str) -> str:
    """The line without control and OSC sequences, of a length that can be shown."""
    return CONTROL.sub("", line).rstrip()[:_LONGEST]
