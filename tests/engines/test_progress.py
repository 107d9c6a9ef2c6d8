"""Plain lines say a stage, its time, and that it still goes on; a terminal gets a moving line."""

from __future__ import annotations

import io

from fitserve.clock import ManualClock
from fitserve.engines.progress import Lines, Live


def test_lines() -> None:
    stream, clock = io.StringIO(), ManualClock()
    progress = Lines(stream, clock)
    progress.begin("Stage one")
    for _ in range(40):
        clock.sleep(1)
        progress.detail("package x")
    progress.end()
    progress.begin("Stage two")
    progress.end()
    assert stream.getvalue().splitlines() == [
        "Stage one",
        "  package x … 15 s",
        "  package x … 30 s",
        "  done in 40 s",
        "Stage two",
    ]


def test_live(capsys) -> None:
    clock = ManualClock()
    progress = Live(clock)
    progress.begin("Stage [bold]one[/bold]")
    clock.sleep(7)
    progress.detail("package [x]")
    progress.end()
    progress.say("[note]")
    progress.close()
    said = capsys.readouterr().err
    assert "✓ Stage [bold]one[/bold]  7 s" in said
    assert "[note]" in said
