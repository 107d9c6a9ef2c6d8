"""One start of an engine as its log tells it: settings, stages, figures, failures, and what was looked for."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from fitserve.observe.log.failures import Failure, FailureReader
from fitserve.observe.log.figures import FigureReader, Value
from fitserve.observe.log.launch import from_line
from fitserve.observe.log.lines import LogLine
from fitserve.observe.log.match import Found, Index
from fitserve.observe.log.periodic import Periodic
from fitserve.observe.log.stages import StageReader, stage_of
from fitserve.stage import Stage

MARK, FIGURE, WATCH = range(3)  # groups of the index that a start is fed with
_KEPT = 4  # hits of one pattern that are kept from the beginning, and as many from the end
_NOTES = 40
# What a user wrote or was answered stands in these lines: only their heads are the engine's own words.
_QUOTED = re.compile(r"(?:(?:Received|Added|Finished) request|Generated response) \S{1,200}|Request \S{1,200} details:")


@dataclass(frozen=True)
class Hit:
    """A line in which a pattern was found. `groups` are the pattern's groups; `stage` is what had been reached."""

    line: int
    process: str
    level: str
    text: str
    groups: tuple[str | None, ...]
    stage: Stage | None


@dataclass
class Hits:
    """The first and the last lines of one pattern, and how many there were."""

    count: int = 0
    first: list[Hit] = field(default_factory=list)
    last: deque[Hit] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def add(self, hit: Hit) -> None:
        self.count += 1
        (self.first if len(self.first) < _KEPT else self.last).append(hit)

    @property
    def all(self) -> list[Hit]:
        """What was kept, in order."""
        return [*self.first, *self.last]


@dataclass
class Start:
    """Everything that is remembered of one start; its size does not grow with the log."""

    first_line: int
    last_line: int = 0
    settings: dict[str, object] = field(default_factory=dict)
    hits: dict[str, Hits] = field(default_factory=dict)
    notes: list[LogLine] = field(default_factory=list)
    errors: list[LogLine] = field(default_factory=list)
    tail: deque[LogLine] = field(default_factory=lambda: deque(maxlen=40))
    stage_lines: dict[Stage, LogLine] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    answered: int = 0  # requests answered with 200
    periodic: Periodic = field(default_factory=Periodic)
    _stages: StageReader = field(default_factory=StageReader)
    _figures: FigureReader = field(default_factory=FigureReader)
    _failures: FailureReader = field(default_factory=FailureReader)

    @property
    def stage(self) -> Stage | None:
        """The latest stage that was entered."""
        return self._stages.stage

    @property
    def figures(self) -> dict[str, Value]:
        return self._figures.figures

    @property
    def figure_lines(self) -> dict[str, int]:
        return self._figures.lines

    @property
    def failures(self) -> tuple[Failure, ...]:
        return self._failures.failures()

    @property
    def failure_count(self) -> int:
        return self._failures.count

    @property
    def version(self) -> str | None:
        value = self.figures.get("version")
        return value if isinstance(value, str) else None

    def feed(self, line: LogLine, index: Index) -> bool:
        """Take one line in; False where it said nothing that is remembered (but for being the last)."""
        self.last_line = line.number
        self.tail.append(line)
        if line.level == "NOTE":
            self._note(line)
        elif line.level in ("ERROR", "CRITICAL") and len(self.errors) < _NOTES:
            self.errors.append(line)
        if line.text.startswith('  File "'):  # a step of a traceback says nothing else
            return self._failures.feed_line(line, self.stage)
        said = self._settings(line)
        quoted = _QUOTED.match(line.text) if line.level in ("INFO", "DEBUG") else None
        hits = index.hits(quoted[0] if quoted else line.text, remark=line.level == "NOTE")
        if hits:
            said = self._stage(line, hits) or said
            said = self._take(line, hits) or said
        return self._failures.feed_line(line, self.stage) or said

    def _note(self, line: LogLine) -> None:
        if len(self.notes) < _NOTES:
            self.notes.append(line)

    def _stage(self, line: LogLine, hits: Found) -> bool:
        reached = stage_of(line, [Stage(item.key) for group, item, _ in hits if group == MARK])
        if reached is not None and self._stages.enter(reached):
            self.stage_lines.setdefault(reached, line)
        return reached is not None

    def _settings(self, line: LogLine) -> bool:
        found = from_line(line.text) if "args: " in line.text or " with config: " in line.text else {}
        for flag, value in found.items():
            self.settings.setdefault(flag, value)
        return bool(found)

    def _take(self, line: LogLine, hits: Found) -> bool:
        said = False
        for group, item, found in hits:
            if group == FIGURE and line.level != "NOTE":
                self._figures.take(line.number, item, found)
                said = True
            elif group == WATCH:
                hit = Hit(line.number, line.process, line.level, line.text, found.groups(), self.stage)
                self.hits.setdefault(item.key, Hits()).add(hit)
                said = True
        return said
