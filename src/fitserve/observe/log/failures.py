"""Tracebacks put together again, process by process, from lines that are interleaved, prefixed or cut short."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from fitserve.observe.log.lines import LogLine
from fitserve.stage import Stage

_FRAME = re.compile(r'^\s{0,12}File "([^"]{1,400})", line \d{1,7}, in (\S{1,120})')
_ERROR = re.compile(
    r"^(?:\|? ?ERROR: )?("
    r"(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Failure|OutOfResources))(?:\(\w{1,60}\))?"
    r"|(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{0,60}(?=: )"
    r"|\s{0,8}Value error(?=, ))"
    r"(?:: |, |\(['\"]|$)(.{0,3500})"
)
_BARE_OOM = re.compile(r"^((?:CUDA|HIP) out of memory\. Tried to allocate .{0,1500})")
_METHOD = re.compile(r"Exception in worker \w{1,60} while processing method (\w{1,80})")
_CALL = re.compile(r"\b([a-z_]\w{4,60})\(")
_FRAMES = 80  # the deepest ones of a traceback are kept
_FIRST, _LAST = 24, 12  # failures of one start that are kept

# What the outer processes say when an inner one failed: never the cause.
WRAPPER = re.compile(
    r"Engine core initialization failed|See (?:root cause|stack trace)|EngineCore failed to start|"
    r"WorkerProc (?:failed to start|initialization failed|hit an exception)|EngineCore encountered|EngineDeadError|"
    r"Engine process failed to start|died unexpectedly|is already dead|Failed core proc|"
    r"fatal signal from worker|AsyncLLM output_handler failed|Engine loop is not running|MQEngine|"
    r"EngineCore hit an exception|Engine background task failed|Exception in worker|cancelled|"
    r"^(?:asyncio\.exceptions\.)?CancelledError"
)


@dataclass(frozen=True)
class Frame:
    """One step of a traceback."""

    file: str
    function: str


@dataclass(frozen=True)
class Failure:
    """One exception. `frames` run from the outside in; `stage` is what the start had reached before it."""

    line: int
    process: str
    error: str  # "torch.OutOfMemoryError"; "" for a sentence without a class
    message: str
    text: str  # the engine's own line
    frames: tuple[Frame, ...]
    stage: Stage | None

    @property
    def functions(self) -> frozenset[str]:
        """Names of the functions on the way to the failure."""
        return frozenset(frame.function for frame in self.frames)

    @property
    def wrapper(self) -> bool:
        """Whether this only says that something else failed."""
        return bool(WRAPPER.search(self.text)) and "Worker failed with error" not in self.text


@dataclass
class FailureReader:
    """Feeds on parsed lines, gives the failures of one start: the first ones and the last ones."""

    first: list[Failure] = field(default_factory=list)
    last: list[Failure] = field(default_factory=list)
    count: int = 0
    _open: dict[tuple[str, int | None], list[Frame]] = field(default_factory=dict)

    def feed_line(self, line: LogLine, stage: Stage | None) -> bool:
        """Read one line; True where it belonged to a traceback."""
        text = line.text
        if text.lstrip()[:5] == "File " and (frame := _FRAME.match(text)):
            self._step(line, Frame(frame[1], frame[2]))
            return True
        if text.startswith("    ") and line.level in ("", "ERROR"):
            self._calls(line)
            return True
        if text.startswith("Traceback (most recent"):
            self._open[line.process, line.pid] = []
            return True
        if method := _METHOD.search(text):
            self._step(line, Frame("", method[1]))
        error = _ERROR.match(text) or _BARE_OOM.match(text)
        if error and line.level in ("", "ERROR", "CRITICAL"):
            self._close(line, error, stage)
        elif error:  # a warning that quotes a traceback: the engine went on
            self._open.pop((line.process, line.pid), None)
        return error is not None

    def _calls(self, line: LogLine) -> None:
        """A line of source in a traceback: what it calls is a step too (its own frame may be cut away)."""
        if line.level == "ERROR" or (line.process, line.pid) in self._open:
            for name in _CALL.findall(line.text[:300]):
                self._step(line, Frame("", name))

    def _step(self, line: LogLine, frame: Frame) -> None:
        frames = self._open.setdefault((line.process, line.pid), [])
        frames.append(frame)
        if len(frames) > _FRAMES:
            del frames[0]
        if len(self._open) > 256:  # processes come and go in a long log
            del self._open[next(iter(self._open))]

    def _close(self, line: LogLine, error: re.Match[str], stage: Stage | None) -> None:
        frames = tuple(self._open.pop((line.process, line.pid), ()))
        groups = error.groups()
        name, message = groups if len(groups) == 2 else ("", groups[0])
        failure = Failure(line.number, line.process, (name or "").strip(), message or "", line.text, frames, stage)
        self.count += 1
        if len(self.first) < _FIRST:
            self.first.append(failure)
            return
        self.last.append(failure)
        if len(self.last) > _LAST:
            del self.last[0]

    def failures(self) -> tuple[Failure, ...]:
        """What was kept, in order of lines. Frames that stood after their sentence are given back to it."""
        found = [*self.first, *self.last]
        for (process, _), frames in self._open.items():
            bare = [n for n, failure in enumerate(found) if not failure.frames and not failure.wrapper]
            same = [n for n in bare if found[n].process == process]
            if frames and (same or bare):
                index = same[-1] if same else bare[0]
                found[index] = replace(found[index], frames=tuple(frames))
        return tuple(found)
