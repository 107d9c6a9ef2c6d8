"""The sections of a bench: what was measured, latencies, throughput against users, memory."""

from __future__ import annotations

from fitserve.measure.figures import Spread
from fitserve.measure.load import Pace
from fitserve.measure.sample import Sample
from fitserve.measure.words import estimate_text, invalid_text, known, number, size_text
from fitserve.report.charts import Chart, Series, lines
from fitserve.report.content import Section, Table
from fitserve.report.latency import distributions
from fitserve.report.ledger import ledger_section
from fitserve.report.read import BenchRun, Measured, Result
from fitserve.text import tr
from fitserve.units import GIB, format_bytes

_COLUMNS = ("load", "answered", "first", "token", "gap", "whole", "output", "text", "image", "good")


def bench_sections(measured: Measured) -> list[Section]:
    """All that one bench says."""
    done = [(run, run.result) for run in measured.runs if run.result is not None]
    found = [_figures(measured, done), _latency(done)]
    deployment = measured.head.get("deployment")
    if isinstance(deployment, dict):
        found.append(ledger_section(deployment, str(deployment.get("name"))))
    found.append(_memory(measured))
    return [section for section in found if section is not None]


def _figures(measured: Measured, done: list[tuple[BenchRun, Result]]) -> Section:
    rows = tuple(_cells(result) for _, result in done)
    head = tuple(tr(f"measure.col_{column}") for column in _COLUMNS)
    users = [(result.spec.pace.users, result) for _, result in done if result.spec.pace.users]
    charts = (_throughput(users),) if len(users) > 1 else ()
    target = measured.head.get("target") or {}
    return Section(
        tr("report.bench", target=target.get("name") or target.get("url")),
        warnings=tuple(text for _, result in done for text in warnings(result)),
        sentences=(*(_asked(result) for _, result in done[-1:]), tr("measure.spread_note"), *map(server_text, done)),
        tables=(Table(head, rows),),
        charts=charts,
    )


def _cells(result: Result) -> tuple[str, ...]:
    found, flow = result.figures, result.figures.throughput
    return (
        load_text(result.spec.pace),
        f"{found.answered}/{found.requests}",
        spread_text(found.first_token_s, 1000),
        spread_text(found.time_per_token_s, 1000),
        tr("measure.unknown") if found.gap_s is None else number(found.gap_s.quantiles["p99"] * 1000),
        spread_text(found.end_to_end_s, 1),
        known(flow.output_tokens),
        known(flow.text_tokens),
        known(flow.image_tokens),
        f"{found.good.share.value:.0%}" if found.good else "-",
    )


def load_text(pace: Pace) -> str:
    """`4 in flight`, `2/s`."""
    if pace.users:
        return tr("measure.row_users", users=pace.users)
    return tr("measure.row_rate", rate=f"{pace.rate:g}")


def spread_text(spread: Spread | None, scale: float) -> str:
    """Median, its interval, p95."""
    if spread is None:
        return tr("measure.unknown")
    return f"{estimate_text(spread.median, scale)} {number(spread.quantiles['p95'] * scale)}"


def _asked(result: Result) -> str:
    work = result.spec.work
    shown = tr("measure.work_pictures", count=work.pictures) if work.pictures else tr("measure.work_no_pictures")
    exactly = work.output_tokens is not None
    return tr(
        "measure.work",
        conversations=work.conversations,
        pictures=shown,
        sizes=", ".join(map(size_text, work.sizes)) if work.pictures else "-",
        turns=tr("measure.work_turns", turns=work.turns),
        tokens=tr("measure.work_exactly", tokens=work.output_tokens)
        if exactly
        else tr("measure.work_at_most", tokens=work.max_tokens),
    )


def warnings(result: Result) -> list[str]:
    """Why figures must not be used, and what failed."""
    load = load_text(result.spec.pace)
    told = [invalid_text(reason, result.lag_seconds, result.figures.late_s) for reason in result.invalid]
    told += [
        tr("report.failed", count=one.count, kind=one.kind, evidence=one.evidence) for one in result.figures.failures
    ]
    if "server_differs" in result.notes:
        told.append(tr("measure.note_server_differs"))
    return [f"{load}: {text}" for text in told]


def server_text(done: tuple[BenchRun, Result]) -> str:
    """Our count beside the server's."""
    result = done[1]
    rows = [
        f"{tr(f'measure.name_{row.name}')} {_quantity(row.name, row.client)} / {_quantity(row.name, row.server)}"
        for row in result.server.comparisons
    ]
    text = tr("report.server", rows=", ".join(rows)) if rows else tr("measure.server_none")
    return f"{load_text(result.spec.pace)}: {text}"


def _quantity(name: str, value: float | None) -> str:
    if value is None:
        return tr("measure.unknown")
    return f"{value * 1000:.1f} ms" if name.endswith("_s") else f"{value:,.0f}"


def _throughput(users: list[tuple[int, Result]]) -> Chart:
    points = sorted((float(count), result.figures.throughput) for count, result in users)
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
    groups = {load_text(result.spec.pace): _steady(run, result) for run, result in done}
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
    series, begun = [], 0.0
    for card in range(cards):
        points: list[tuple[float, float]] = []
        begun = 0.0
        for run in runs:
            points += [(begun + row[0], row[card + 1] / GIB) for row in run.memory]
            begun = points[-1][0]
        series.append(Series(tr("report.card", number=card), tuple(points)))
    chart = lines("memory", tr("report.chart_memory"), (tr("report.seconds"), "GiB"), series)
    peaks = [max(int(row[card + 1]) for run in runs for row in run.memory) for card in range(cards)]
    told = tr("measure.memory_peak", cards=", ".join(format_bytes(peak) for peak in peaks))
    return Section(tr("report.memory"), sentences=(told,), charts=(chart,))
