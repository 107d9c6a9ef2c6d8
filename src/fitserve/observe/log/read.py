"""A whole log, of any size, in constant memory: files, standard input, gzip, any encoding, several starts in one file.

Speed comes from not looking: lines of a source that never said anything are skipped by their head, the lines of the
steady state (periodic figures, answered requests) have a path of their own, and repeated bare lines are remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from fitserve.observe.log.figures import FIGURES
from fitserve.observe.log.lines import OWN, LogLine, parse
from fitserve.observe.log.match import Index, Pattern
from fitserve.observe.log.stages import MARKS
from fitserve.observe.log.start import Start
from fitserve.stage import Stage

_HEAD = re.compile(r"(?:\([^)]{1,80}\) )?(?:INFO|DEBUG|WARNING) \d\d-\d\d \d\d:\d\d:\d\d \[?([^\]\s]{1,120})\]")
_QUIET = 48  # lines of one source without a word to say, before it is skipped
_SEEN = 20_000  # bare lines that are remembered as saying nothing
_REQUESTS = 16
_PARSED = 4096  # lines that are remembered taken apart
_BANNER = re.compile(r"vLLM (?:API )?server version|█ +version \d|^version \d")
_ENGINE = re.compile(r"Initializing an? (?:V\d )?LLM engine")
_MAIN = re.compile(r"^(?:APIServer|EngineCore(?:_(?:DP)?\d+)?|Worker_(?:TP|PP|DP)\d+\S*|VllmWorker rank=\d+)$")
_STARTS = 20


@dataclass(frozen=True)
class StartSummary:
    """One of several starts in a file: its lines, version, and how far it came."""

    first_line: int
    last_line: int
    version: str | None
    stage: Stage | None
    failed: bool
    figures: dict[str, float | int | str | bool]


@dataclass
class LogReading:
    """What a log holds. `start` is the one that counts (the last), `before` the one before it in full."""

    start: Start
    before: Start | None = None
    earlier: list[StartSummary] = field(default_factory=list)
    starts: int = 1
    lines: int = 0
    bytes_read: int = 0


class LogReader:
    """Feed it lines, then ask for `reading`. `watch` holds the patterns whose lines are to be kept."""

    def __init__(self, watch: Iterable[Pattern] = ()) -> None:
        self._index = Index(MARKS, FIGURES, watch)
        self._quiet: dict[str, int] = {}
        self._seen: set[str] = set()
        self._parsed: dict[str, LogLine] = {}
        self._requests = 0
        self.reading = LogReading(Start(1))

    def feed(self, raw: str) -> None:
        """Read one raw line."""
        reading = self.reading
        reading.lines += 1
        number = reading.lines
        if "throughput: " in raw or " Running: " in raw:
            if self._steady(number, raw):
                return
        elif '" 200' in raw and "HTTP/" in raw:
            reading.start.answered += 1
            if reading.start.answered > _REQUESTS:
                return
        elif "ed request " in raw:
            self._requests += 1
            if self._requests > _REQUESTS:
                return
        head = _HEAD.match(raw)
        if head:
            self._known(number, raw, head[1])
        else:
            self._unknown(number, raw)

    def add(self, text: str) -> None:
        """Take in what fitserve itself knows of this start, as an error line of its own."""
        self.reading.lines += 1
        self._take(LogLine(self.reading.lines, OWN, None, "ERROR", "", "", text))

    def _steady(self, number: int, raw: str) -> bool:
        """The periodic line: summed up; the first ones are read in full, for the stage."""
        start = self.reading.start
        start.periodic.feed(number, raw)
        start.last_line = number
        return start.periodic.lines > 4

    def _known(self, number: int, raw: str, source: str) -> None:
        silent = self._quiet.get(source, 0)
        if silent >= _QUIET:
            return
        self._quiet[source] = 0 if self._take(self._parse(number, raw)) else silent + 1

    def _unknown(self, number: int, raw: str) -> None:
        if raw in self._seen:
            return
        if raw[:1] == "{" and "\\n" in raw:
            said = [
                self._take(line._replace(text=text)) for line in (parse(number, raw),) for text in line.text.split("\n")
            ]
            if any(said):
                return
        elif self._take(parse(number, raw)):
            return
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(raw)

    def _parse(self, number: int, raw: str) -> LogLine:
        """Take a line apart, or the same line as before with its new number."""
        known = self._parsed.get(raw)
        if known is not None:
            return known._replace(number=number)
        if len(self._parsed) >= _PARSED:
            self._parsed.clear()
        line = self._parsed[raw] = parse(number, raw)
        return line

    def _take(self, line: LogLine) -> bool:
        if self._begins(line):
            self._next_start(line.number)
        start = self.reading.start
        if line.pid is not None and line.process:
            start.pids[line.process] = line.pid
        return start.feed(line, self._index)

    def _begins(self, line: LogLine) -> bool:
        """Whether another start begins here: its banner or a main process comes again after work was done."""
        start = self.reading.start
        mark = _mark(line.text)
        if not mark and (not line.process or start.pids.get(line.process, line.pid) == line.pid):
            return False
        if self._again(mark, start) or self._other_process(line, start):
            return True
        if mark:
            start.marks.add(mark)
        return False

    def _again(self, mark: str, start: Start) -> bool:
        failed = start.failure_count > 0
        if mark == "engine":
            return mark in start.marks and _worked(start)
        past_config = start.stage is not None and Stage.CONFIG.before(start.stage)
        return mark != "" and (past_config or failed) and (mark in start.marks or not start.marks & {"banner", "args"})

    def _other_process(self, line: LogLine, start: Start) -> bool:
        known = start.pids.get(line.process) if _MAIN.match(line.process) else None
        return known is not None and line.pid not in (None, known) and _worked(start)

    def _next_start(self, number: int) -> None:
        reading = self.reading
        old = reading.start
        reading.earlier.append(summary(old))
        del reading.earlier[:-_STARTS]
        reading.starts += 1
        reading.before, reading.start = old, Start(number)
        self._requests = 0


def _worked(start: Start) -> bool:
    return start.failure_count > 0 or (start.stage is not None and Stage.LOAD.before(start.stage))


def _mark(text: str) -> str:
    if "args: " in text and re.match(r"(?:non-default )?args: ", text):
        return "args"
    if "version" in text and _BANNER.search(text):
        return "banner"
    return "engine" if "Initializing a" in text and _ENGINE.search(text) else ""


def summary(start: Start) -> StartSummary:
    """A start in short."""
    failed = start.failure_count > 0
    return StartSummary(start.first_line, start.last_line, start.version, start.stage, failed, dict(start.figures))


def read_lines(lines: Iterable[str], watch: Iterable[Pattern] = ()) -> LogReading:
    """Read lines that are already text."""
    reader = LogReader(watch)
    for line in lines:
        reader.feed(line)
    return reader.reading
