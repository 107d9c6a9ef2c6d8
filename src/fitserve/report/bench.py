"""The sections of a bench: what was measured, latencies, throughput against users, memory."""

from __future__ import annotations

from fitserve.measure.beside import beside_head, beside_rows
from fitserve.measure.figure_row import figure_head, figure_row
from fitserve.measure.sample import Sample
from fitserve.measure.server import Comparison
from fitserve.measure.words import (
    invalid_text,
    listed,
    pace_text,
    quantity_text,
    says,
    work_text,
)
from fitserve.report.charts import Chart, Series, lines
from fitserve.report.content import Section, Table
from fitserve.report.latency import distributions
from fitserve.report.ledger import ledger_section
from fitserve.report.read import BenchRun, Measured, Result
from fitserve.text import tr
from fitserve.units import GIB, format_bytes


def bench_sections(measured: Measured) -> list[Section]:
    """All that one bench says."""
    done = [(run, run.result) for run in measured.runs if run.result is not None]
    found = [_figures(measured, done), _latency(done), *_beside(done)]
    deployment = measured.head.get("deployment")
    if isinstance(deployment, dict):
        found.append(ledger_section(deployment, str(deployment.get("name"))))
    found.append(_memory(measured))
    return [section for section in found if section is not None]


def _figures(measured: Measured, done: list[tuple[BenchRun, Result]]) -> Section:
    rows = tuple(figure_row(result.spec.pace, result.figures, "-") for _, result in done)
    head = figure_head()
    users = [(result.spec.pace.users, result) for _, result in done if result.spec.pace.users]
    charts = (_throughput(users),) if len(users) > 1 else ()
    target = measured.head.get("target") or {}
    return Section(
        tr("report.bench", target=target.get("name") or target.get("url")),
        warnings=tuple(text for _, result in done for text in warnings(result)),
        sentences=(
            *(work_text(result.spec.work) for _, result in done[-1:]),
            tr("measure.spread_note"),
            *map(server_text, done),
        ),
        tables=(Table(head, rows),),
        charts=charts,
    )


def _beside(done: list[tuple[BenchRun, Result]]) -> list[Section]:
    """A section for each load that `vllm bench serve` did, too."""
    return [
        Section(
            says(pace_text(result.spec.pace), tr("measure.theirs_title")),
            sentences=(tr("measure.theirs_note"),),
            tables=(Table(beside_head(), beside_rows(result.figures, run.theirs)),),
        )
        for run, result in done
        if run.theirs
    ]


def warnings(result: Result) -> list[str]:
    """Why figures must not be used, and what failed."""
    load = pace_text(result.spec.pace)
    told = [invalid_text(reason, result.lag_seconds, result.figures.late_s) for reason in result.invalid]
    told += [
        tr("report.failed", count=one.count, kind=one.kind, evidence=one.evidence) for one in result.figures.failures
    ]
    if {row.name for row in result.server.differs} & {"requests", "output_tokens"}:
        told.append(tr("measure.note_server_differs"))
    return [says(load, text) for text in told]


def server_text(done: tuple[BenchRun, Result]) -> str:
    """Our count beside the server's."""
    result = done[1]
    rows = [_both(row) for row in result.server.comparisons]
    text = tr("report.server", rows=listed(rows)) if rows else tr("measure.server_none")
    return says(pace_text(result.spec.pace), text)


def _both(row: Comparison) -> str:
    client, server = (quantity_text(row.name, value) for value in (row.client, row.server))
    return f"{tr(f'measure.name_{row.name}')} {client} / {server}"


def _throughput(users: list[tuple[int, Result]]) -> Chart:
    points = sorted(((float(count), result.figures.throughput) for count, result in users), key=lambda point: point[0])
    series = [
        Series(tr("report.all_users"), tuple((x, y.output_tokens) for x, y in points if y.output_tokens is not None))
    ]
    each = tuple((x, y.output_tokens / x) for x, y in points if y.output_tokens is not None)
    series.append(Series(tr("report.each_user"), each))
    labels = (tr("report.users"), tr("report.tokens_per_second"))
    return lines(
        "throughput",
        tr("report.chart_throughput"),
        labels,
        series,
        log_x=True,
        marks=True,
        ticks=tuple(x for x, _ in points),
    )


def _latency(done: list[tuple[BenchRun, Result]]) -> Section | None:
    groups = {pace_text(result.spec.pace): _steady(run, result) for run, result in done}
    charts = distributions("latency", groups)
    return Section(tr("report.latency"), sentences=(tr("report.latency_note"),), charts=charts) if charts else None


def _steady(run: BenchRun, result: Result) -> list[Sample]:
    window = result.figures.steady
    return [
        sample
        for sample in run.samples
        if sample.ok and (window is None or window.start_s <= sample.sent_s <= window.end_s)
    ]


def _memory(measured: Measured) -> Section | None:
    runs = [run for run in measured.runs if run.memory]
    if not runs:
        return None
    cards = len(runs[0].memory[0]) - 1
    on_cpu = "cpu" in str((measured.head.get("deployment") or {}).get("engine"))
    series, begun = [], 0.0
    for card in range(cards):
        points: list[tuple[float, float]] = []
        begun = 0.0
        for run in runs:
            points += [(begun + row[0], row[card + 1] / GIB) for row in run.memory]
            begun = points[-1][0]
        series.append(Series(tr("report.processes") if on_cpu else tr("report.card", number=card), tuple(points)))
    title = tr("report.chart_memory_host" if on_cpu else "report.chart_memory")
    chart = lines("memory", title, (tr("report.seconds"), "GiB"), series)
    peaks = [max(int(row[card + 1]) for run in runs for row in run.memory) for card in range(cards)]
    told = tr(
        "measure.memory_peak_host" if on_cpu else "measure.memory_peak",
        cards=listed(format_bytes(peak) for peak in peaks),
    )
    return Section(tr("report.memory"), sentences=(told,), charts=(chart,))
