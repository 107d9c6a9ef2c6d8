"""The engine's log as the runner reads it: stages and figures, line by line."""

from __future__ import annotations

from fitserve.observe.log.figures import FigureReader
from fitserve.observe.log.lines import parse
from fitserve.observe.log.stages import StageReader
from fitserve.stage import Stage


class LogReader:
    """Takes each line apart once, for both readers."""

    def __init__(self) -> None:
        self._stages, self._figures, self._number = StageReader(), FigureReader(), 0

    def feed(self, line: str) -> Stage | None:
        """The stage that this line opens, None where it opens none."""
        self._number += 1
        taken = parse(self._number, line)
        self._figures.feed_line(taken)
        return self._stages.feed_line(taken)

    def figures(self) -> dict[str, object]:
        """What the log has told so far: `kv_tokens`, `weights_gib` and their like."""
        return dict(self._figures.figures)
