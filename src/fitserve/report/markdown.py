"""A report as Markdown; charts are links to SVG files beside it."""

from __future__ import annotations

import re

from fitserve.report.content import Report, Section, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def markdown(report: Report, charts: str = "") -> str:
    """`charts` is the folder with the charts' files, as the Markdown file sees it; "" leaves them out."""
    parts = [f"# {_plain(report.title)}"]
    for section in report.sections:
        parts += _section(section, charts)
    return "\n\n".join(parts) + "\n"


def _section(section: Section, charts: str) -> list[str]:
    parts = [f"## {_plain(section.title)}"]
    parts += [f"> **{_plain(text)}**" for text in section.warnings]
    parts += [_table(table) for table in section.tables]
    parts += [_plain(text) for text in section.sentences]
    if charts:
        parts += [f"![{_plain(chart.title)}]({charts}/{chart.name}.svg)" for chart in section.charts]
    return parts


def _table(table: Table) -> str:
    rows = [table.head, tuple("---" if place == 0 else "---:" for place in range(len(table.head))), *table.rows]
    cells = [[cell if number == 1 else _plain(cell) for cell in row] for number, row in enumerate(rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def _plain(text: str) -> str:
    """Text of models and engines is never markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
