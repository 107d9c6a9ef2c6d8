"""The sections of a comparison: verdicts with their intervals, figures by setting, latencies, memory, answers."""

from __future__ import annotations

from fitserve.measure.statistics import Estimate
from fitserve.measure.words import estimate_text, listed, says, verdict_text
from fitserve.report.bench import warnings
from fitserve.report.charts import Bar, Chart, bars
from fitserve.report.content import Section, Table
from fitserve.report.latency import distributions
from fitserve.report.ledger import ledger_section
from fitserve.report.read import Comparison, Measured
from fitserve.text import tr
from fitserve.units import GIB

_ROWS = {  # figure -> scale to the unit of its sentence
    "output_tokens_s": 1.0,
    "time_per_token_s": 1000.0,
    "first_token_s": 1000.0,
    "end_to_end_s": 1.0,
    "cold_first_token_s": 1.0,
    "first_start_s": 1.0,
    "start_s": 1.0,
}
_CHARTED = ("output_tokens_s", "time_per_token_s", "first_token_s", "start_s")


def compare_sections(measured: Measured) -> list[Section]:
    """All that one comparison says; of one that was cut short, what it has."""
    found: list[Section | None] = []
    if measured.comparison is not None:
        found += [_verdicts(measured, measured.comparison), _figures(measured.comparison)]
    found += [_latency(measured), _memory(measured)]
    if measured.comparison is not None:
        found.append(_answers(measured.comparison))
    last = {start.setting: start.deployment for start in measured.starts if start.deployment}
    found += [ledger_section(deployment, setting) for setting, deployment in last.items()]
    return [section for section in found if section is not None]


def _verdicts(measured: Measured, comparison: Comparison) -> Section:
    failed = [
        tr("measure.trial_failed", setting=start.setting, reason=start.failure)
        for start in measured.starts
        if start.failure
    ]
    invalid = [
        says(listed([start.setting, tr("report.round", number=start.number + 1)]), text)
        for start in measured.starts
        if start.result
        for text in warnings(start.result)
    ]
    bars_of_ratios = [
        Bar(
            says(tr(f"measure.figure_{one.figure}"), f"{one.setting} / {one.base}"),
            one.ratio.value,
            one.ratio.low,
            one.ratio.high,
        )
        for one in comparison.verdicts
        if one.ratio is not None
    ]
    charts: tuple[Chart, ...] = ()
    if bars_of_ratios:
        title, label = tr("report.chart_ratios"), tr("report.ratio")
        charts = (bars("ratios", title, label, bars_of_ratios, reference=1.0, log=True),)
    note = tr("measure.verdict_note", setting=comparison.settings[-1], base=comparison.settings[0])
    return Section(
        tr("report.verdicts", target=comparison.target, settings=" · ".join(comparison.settings)),
        warnings=(*failed, *invalid),
        sentences=(*map(verdict_text, comparison.verdicts), note),
        charts=charts,
    )


def _figures(comparison: Comparison) -> Section:
    head = (tr("measure.col_setting"), *(tr(f"report.row_{name}") for name in _ROWS))
    rows = tuple(
        (setting, *(estimate_text(comparison.figures[setting].get(name), scale) for name, scale in _ROWS.items()))
        for setting in comparison.settings
    )
    charts = tuple(chart for chart in (_bars(comparison, name) for name in _CHARTED) if chart is not None)
    return Section(
        tr("report.figures"), sentences=(tr("report.figures_note"),), tables=(Table(head, rows),), charts=charts
    )


def _bars(comparison: Comparison, name: str) -> Chart | None:
    scale = _ROWS[name]
    found: list[tuple[str, Estimate]] = []
    for setting in comparison.settings:
        estimate = comparison.figures[setting].get(name)
        if estimate is not None:
            found.append((setting, estimate))
    if not found:
        return None
    rows = [
        Bar(setting, one.value * scale, _scaled(one.low, scale), _scaled(one.high, scale), number)
        for number, (setting, one) in enumerate(found)
    ]
    return bars(f"figure-{name}", tr(f"report.row_{name}"), tr(f"report.row_{name}"), rows)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _latency(measured: Measured) -> Section | None:
    charts = distributions(
        "latency", {name: [one for one in all_ if one.ok] for name, all_ in measured.samples.items()}
    )
    return Section(tr("report.latency"), sentences=(tr("report.latency_rounds"),), charts=charts) if charts else None


def _memory(measured: Measured) -> Section | None:
    """The peak of the fullest card in each stage of the last start of each setting."""
    last = {start.setting: start.stage_memory for start in measured.starts if start.stage_memory}
    if not last:
        return None
    settings = list(last)
    rows = [
        Bar(listed([setting, tr(f"run.stage_{stage}")]), max(cards) / GIB, group=settings.index(setting))
        for setting, stages in last.items()
        for stage, cards in stages.items()
    ]
    chart = bars("memory-by-stage", tr("report.chart_stages"), "GiB", rows, groups=settings)
    return Section(tr("report.memory"), charts=(chart,))


def _answers(comparison: Comparison) -> Section | None:
    told: list[str] = []
    for row in comparison.answers:
        if row["count"]:
            names = {"setting": row["setting"], "base": comparison.settings[0]}
            told.append(tr("measure.answers_same", **names, same=row["same"], count=row["count"]))
            if row.get("differs"):
                question, before, after = row["differs"]
                told.append(tr("measure.answers_differ", **names, question=question, before=before, after=after))
    for setting, row in comparison.right.items():
        if row["judged"] and comparison.target == "demo":
            told.append(says(setting, tr("measure.right", right=row["right"], judged=row["judged"])))
    return Section(tr("report.answers"), sentences=tuple(told)) if told else None
