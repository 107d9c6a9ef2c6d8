"""What a report says, before it is a page: sections of sentences, tables and charts."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitserve.report.charts import Chart


@dataclass(frozen=True)
class Table:
    """Rows of text. The first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it. `warnings` are sentences that must not be missed."""

    title: str
    warnings: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Raw:
    """A file of raw data that travels with the page."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Report:
    """A whole report in one language."""

    language: str
    title: str
    sections: tuple[Section, ...]
    raw: tuple[Raw, ...] = field(default=())

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts in order."""
        return tuple(chart for section in self.sections for chart in section.charts)
