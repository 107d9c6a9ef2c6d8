"""How long a start will still take, from how earlier starts of the same plan went."""

from __future__ import annotations

import os
import time

from fitserve.run.live import Live
from fitserve.stage import Stage


def seconds_left(live: Live, now_s: float | None = None) -> float | None:
    """Seconds until it answers; None where that is not known. `now_s`: since the engine's start."""
    expected = {moment.stage: moment.at_s for moment in live.expected}
    end, here = expected.get(Stage.ANSWERING), expected.get(live.stage) if live.stage else None
    now_s = elapsed(live) if now_s is None else now_s
    if end is None or here is None or now_s is None:
        return None
    later = [at_s for stage, at_s in expected.items() if live.stage and live.stage.before(stage)]
    if not later:
        return 0.0
    in_stage = max(0.0, now_s - live.stages[-1].at_s)
    return max(end - here - in_stage, end - min(later))  # a stage that drags on leaves the later ones as they are


def elapsed(live: Live) -> float | None:
    """Seconds since the engine was started, by the kernel's own count: no clock that is set moves it."""
    if live.engine is None or not live.engine.boot:
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME) - live.engine.start_ticks / os.sysconf("SC_CLK_TCK")
