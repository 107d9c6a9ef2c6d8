"""A report as one HTML file: both languages inside, charts and raw data inline, nothing fetched, no script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from fitserve.report.charts import Chart
from fitserve.report.content import Raw, Report, Section, Table
from fitserve.report.svg import FONTS

_NAMES = {"en": "English", "zh": "中文"}
_STYLE = f"""
:root {{ color-scheme: light dark; --line: #8884; --faint: #8881; }}
body {{ font: 15px/1.6 {FONTS}; max-width: 72rem; margin: 0 auto; padding: 1rem 1.2rem 4rem; }}
h1 {{ font-size: 1.5rem; margin: .6rem 0; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }}
p {{ margin: .35rem 0; white-space: pre-line; }}
.warning {{ border-left: 4px solid #d55e00; background: #d55e0018; padding: .3rem .7rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: .7rem 0; font-variant-numeric: tabular-nums; font-size: .9rem; }}
th, td {{ padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
thead th {{ background: var(--faint); }}
table.facts td {{ text-align: left; white-space: normal; }}
figure {{ margin: 1rem 0; max-width: 54rem; padding: .5rem; background: #fff; }}
figure {{ border: 1px solid var(--line); border-radius: 6px; }}
svg {{ width: 100%; height: auto; display: block; }}
.language {{ position: absolute; opacity: 0; }}
.switch label {{ cursor: pointer; padding: .15rem .7rem; border: 1px solid var(--line); border-radius: 1rem; }}
.report {{ display: none; }}
"""


def page(reports: Sequence[Report]) -> str:
    """The whole file; the first report's language is shown first."""
    first = reports[0]
    switches = "".join(_switch(report, report is first) for report in reports)
    labels = "".join(f'<label for="show-{one.language}">{_NAMES[one.language]}</label> ' for one in reports)
    shown = "".join(_shown(one.language) for one in reports)
    bodies = "\n".join(_body(report) for report in reports)
    return (
        f'<!doctype html>\n<html lang="{first.language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(first.title)}</title>\n<style>{_STYLE}{shown}</style>\n</head>\n<body>\n"
        f'{switches}<p class="switch">{labels}</p>\n{bodies}\n{_raw(first.raw)}</body>\n</html>\n'
    )


def _switch(report: Report, checked: bool) -> str:
    on = " checked" if checked else ""
    name = _NAMES[report.language]
    return f'<input class="language" type="radio" name="language" id="show-{report.language}" aria-label="{name}"{on}>'


def _shown(language: str) -> str:
    """Style: the report whose button is on, and that button."""
    button = f".switch label[for=show-{language}]"
    return (
        f"#show-{language}:checked ~ #report-{language} {{ display: block; }}\n"
        f"#show-{language}:checked ~ {button} {{ background: #0072b2; color: #fff; }}\n"
        f"#show-{language}:focus-visible ~ {button} {{ outline: 2px solid; }}\n"
    )


def _body(report: Report) -> str:
    sections = "\n".join(_section(section) for section in report.sections)
    return (
        f'<main class="report" id="report-{report.language}" lang="{report.language}">\n'
        f"<h1>{escape(report.title)}</h1>\n{sections}\n</main>"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts += [f'<p class="warning">{escape(text)}</p>' for text in section.warnings]
    parts += [_table(table) for table in section.tables]
    parts += [f"<p>{escape(text)}</p>" for text in section.sentences]
    parts += [_figure(chart) for chart in section.charts]
    return "<section>" + "\n".join(parts) + "</section>"


def _table(table: Table) -> str:
    facts = not any(table.head)
    head = "" if facts else "<thead><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in table.head) + "</tr></thead>"
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    kind = ' class="facts"' if facts else ""
    return f'<div class="scroll"><table{kind}>{head}<tbody>\n{rows}\n</tbody></table></div>'


def _figure(chart: Chart) -> str:
    return f'<figure id="{escape(chart.name)}">\n{chart.svg}</figure>'


def _raw(raw: Sequence[Raw]) -> str:
    """Links that carry the data themselves."""
    links = " · ".join(
        f'<a download="{escape(one.name)}" href="data:application/x-ndjson;base64,'
        f'{base64.b64encode(one.data).decode()}">{escape(one.name)}</a>'
        for one in raw
    )
    return f"<footer><p>{links}</p></footer>\n" if links else ""
