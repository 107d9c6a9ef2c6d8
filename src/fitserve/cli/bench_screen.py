"""A bench as it is watched, and its figures as a table."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from fitserve.chat.clean import strip_control
from fitserve.cli.up_result import padded, width
from fitserve.measure.beside import beside_head, beside_rows
from fitserve.measure.figure_row import figure_head, figure_row
from fitserve.measure.words import invalid_text, listed, pace_text, quantity_text, says
from fitserve.text import tr
from fitserve.units import format_bytes

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.measure.bench import Bench
    from fitserve.measure.figures import Failure
    from fitserve.measure.sample import Sample
    from fitserve.measure.server import ServerView
    from fitserve.measure.vllm_bench import Theirs

_MOVING_S, _LINE_S = 0.25, 10.0


class Progress:
    """One line that moves on a terminal, a line now and then elsewhere."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._moves = sys.stderr.isatty()
        self._part, self._total, self._done, self._tokens = "", 0, 0, 0
        self._began = self._shown = time.monotonic()

    def begins(self, part: str, requests: int) -> None:
        """A part of the bench."""
        self._part, self._total, self._done, self._tokens = part, requests, 0, 0
        self._began = self._shown = time.monotonic()
        if requests and not self._moves:
            self._show(0)

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:  # noqa: ARG002 - the listener's signature
        """One request more."""
        self._done += 1
        self._tokens += sample.completion_tokens or 0
        now = time.monotonic()
        if now - self._shown >= (_MOVING_S if self._moves else _LINE_S):
            self._shown = now
            self._show(in_flight)

    def end(self) -> None:
        """Leave no half line."""
        if self._moves:
            click.echo("\r\x1b[K", nl=False, err=True)

    def _show(self, in_flight: int) -> None:
        rate = self._tokens / max(time.monotonic() - self._began, 1e-9)
        values = {"part": tr(f"measure.part_{self._part}"), "done": self._done, "total": self._total}
        text = tr("measure.progress", what=self._what, in_flight=in_flight, rate=f"{rate:.0f}", **values)
        click.echo(f"\r{text}\x1b[K" if self._moves else text, nl=not self._moves, err=True)


def table(benches: list[Bench]) -> list[str]:
    """Loads as rows."""
    rows = [figure_head(), *(figure_row(bench.spec.pace, bench.figures, "") for bench in benches)]
    if all(bench.figures.good is None for bench in benches):
        rows = [row[:-1] for row in rows]
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(padded(cell, size, right=True) for cell, size in zip(row, widths, strict=True)) for row in rows]


def remarks(bench: Bench, endpoint: Endpoint, judge: bool) -> list[str]:
    """What a reader has to know beside the table, the worst first. `judge`: the model knows the drawn world."""
    late_s = bench.figures.late_s
    told = [click.style(invalid_text(reason, bench.lag_s, late_s), fg="red") for reason in bench.invalid]
    told += [failure_text(failure, bench, endpoint) for failure in bench.figures.failures]
    told += [tr(f"measure.note_{note}", **_values(bench)) for note in bench.notes if note != "server_differs"]
    if bench.judged and judge:
        told.append(tr("measure.right", right=bench.right, judged=bench.judged))
    return told + server_lines(bench.server)


def failure_text(failure: Failure, bench: Bench, endpoint: Endpoint) -> str:
    """How many failed, why, and the endpoint's own line."""
    if failure.kind.startswith("endpoint_"):
        what = tr(f"chat.{failure.kind}", url=endpoint.base_url, model=endpoint.model)
    else:
        what = tr("measure.slow_total", seconds=f"{bench.spec.limit_s:g}")
    line = tr("measure.failed", count=failure.count, what=what)
    evidence = strip_control(failure.evidence)[:300]
    return f"{line}\n  {tr('failure.evidence')}{evidence}" if evidence else line


def server_lines(server: ServerView) -> list[str]:
    """The server's own count beside ours."""
    if not server.comparisons:
        return [tr("measure.server_none")]
    agreed = [_agreed(row.name, row.client, row.server) for row in server.comparisons if row.held == "agrees"]
    told = [tr("measure.server_agrees", what=listed(agreed))] if agreed else []
    for row in server.differs:
        what = tr(f"measure.name_{row.name}")
        line = tr(
            "measure.server_differs",
            what=what,
            client=quantity_text(row.name, row.client),
            server=quantity_text(row.name, row.server),
        )
        told.append(click.style(line, fg="yellow"))
    if {row.name for row in server.differs} & {"requests", "output_tokens"}:
        told.append(tr("measure.note_server_differs"))
    return told


def _agreed(name: str, client: float | None, server: float | None) -> str:
    text = f"{tr(f'measure.name_{name}')} {quantity_text(name, client)}"
    return text if client == server else f"{text} / {quantity_text(name, server)}"


def beside(bench: Bench, theirs: Theirs) -> list[str]:
    """Our figures and those of `vllm bench serve`, and in what they can't be the same."""
    rows = [beside_head(), *beside_rows(bench.figures, theirs)]
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        padded(row[0], widths[0])
        + "  "
        + "  ".join(padded(cell, size, right=True) for cell, size in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    return [says(pace_text(bench.spec.pace), tr("measure.theirs_title")), *lines, tr("measure.theirs_note")]


def _values(bench: Bench) -> dict[str, object]:
    """What the notes' placeholders may name."""
    count = bench.server.preemptions if "preempted" in bench.notes else bench.server.picture_cache_hits
    return {"unfinished": bench.unfinished, "count": count}


def memory_line(bench: Bench, *, on_cpu: bool = False) -> str:
    """The peak of each card, or of all processes together."""
    if bench.memory_peak_bytes is None:
        return tr("measure.memory_unknown")
    key = "measure.memory_peak_host" if on_cpu else "measure.memory_peak"
    return tr(key, cards=listed(format_bytes(card) for card in bench.memory_peak_bytes))
