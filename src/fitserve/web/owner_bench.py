"""Kept measurements of a deployment as charts for the page; they are drawn by `report/`, as in a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitserve.errors import FitserveError, NotFound
from fitserve.observe.record import read_record
from fitserve.text import tr
from fitserve.web.status import moment

if TYPE_CHECKING:
    from fitserve.report.content import Report

_SHOWN = 10  # files
_LOOKED_AT = 200
_EVENTS = ("bench", "compare")


@dataclass(frozen=True)
class Kept:
    """One file of measurements."""

    path: Path
    event: str
    at: float


def kept(name: str) -> list[Kept]:
    """The youngest measurements of this deployment."""
    return [one for one, _ in zip(_of(name), range(_SHOWN), strict=False)]


def _of(name: str) -> Iterator[Kept]:
    from fitserve.measure.results import latest_results

    for path in latest_results()[:_LOOKED_AT]:
        try:
            head: Any = next(read_record(path), {})
        except OSError:
            continue
        target = head.get("target")
        measured = target.get("name") if isinstance(target, dict) else target
        if head.get("event") in _EVENTS and measured == name:
            yield Kept(path, head["event"], float(head.get("at", 0.0)))


def document(name: str, language: str) -> list[dict[str, object]]:
    """Files with their charts and sentences. A file that can't be read is told with its reason."""
    return [_row(one, language) for one in kept(name)]


def _row(one: Kept, language: str) -> dict[str, object]:
    row: dict[str, object] = {"file": one.path.name, "kind": one.event, "at": moment(one.at)}
    try:
        report = report_on(one.path, language)
    except FitserveError as error:
        return row | {"problem": error.message, "charts": [], "warnings": []}
    warnings = [text for section in report.sections for text in section.warnings]
    charts = [{"name": chart.name, "title": chart.title} for chart in report.charts]
    return row | {"problem": None, "charts": charts, "warnings": warnings}


def chart(file: str, name: str, language: str) -> str:
    """One chart as SVG. Raises NotFound; a file is one of those that are kept, never a path."""
    from fitserve.measure.results import latest_results, results_dir

    path = next((path for path in latest_results() if path.name == file), None)
    found = next((one for one in report_on(path, language).charts if one.name == name), None) if path else None
    if found is None:
        raise NotFound(tr("report.no_file", path=results_dir()), hint="fitserve report")
    return found.svg


def report_on(path: Path, language: str) -> Report:
    """The report on one file. Raises FitserveError."""
    return _report(path, path.stat().st_mtime_ns, language)


@lru_cache(maxsize=16)
def _report(path: Path, _changed: int, language: str) -> Report:
    from fitserve.report.build import build
    from fitserve.report.read import read_measured

    return replace(build([read_measured(path)], language), raw=())  # the raw data is large, and nobody asks for it here
