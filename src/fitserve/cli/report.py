"""`fitserve report`: kept measurements as one page that opens anywhere, or as Markdown, with its charts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fitserve.errors import NotFound, OperationFailed
from fitserve.text import current_language, tr

SCHEMA_VERSION = 1
_MARKDOWN = (".md", ".markdown")


@click.command(help="What bench and compare kept, as one page (HTML, both languages inside) or as Markdown.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE…]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("fitserve-report.html"),
    help="report.html or report.md (default fitserve-report.html)",
)
@click.option("--charts", type=click.Path(path_type=Path), metavar="FOLDER", help="each chart as an SVG file, too")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(files: tuple[Path, ...], output: Path, charts: Path | None, as_json: bool) -> None:
    from fitserve.report.build import build
    from fitserve.report.read import read_measured
    from fitserve.text.catalog import LANGUAGES

    measured = [read_measured(path) for path in files or (_latest(),)]
    mine = current_language()
    reports = [build(measured, language) for language in (mine, *(one for one in LANGUAGES if one != mine))]
    drawn = _write_charts(reports[0].charts, charts) if charts else ()
    _write(output, _text(reports, output, charts))
    if as_json:
        table = {
            "schema_version": SCHEMA_VERSION,
            "kind": "report",
            "file": str(output),
            "charts": list(map(str, drawn)),
        }
        click.echo(json.dumps(table | {"measurements": [str(one.path) for one in measured]}, ensure_ascii=False))
        return
    click.echo(tr("report.written", path=output))
    if charts:
        click.echo(tr("report.charts_written", count=len(drawn), path=charts))


def _text(reports: list, output: Path, charts: Path | None) -> str:  # type: ignore[type-arg]  # Report, imported late
    if output.suffix not in _MARKDOWN:
        from fitserve.report.html import page

        return page(reports)
    from os.path import relpath

    from fitserve.report.markdown import markdown

    return markdown(reports[0], relpath(charts, output.parent) if charts else "")


def _latest() -> Path:
    """The newest measurements. Raises NotFound."""
    from fitserve.measure.results import latest_results

    found = latest_results()
    if not found:
        raise NotFound(tr("report.nothing_kept"), hint=tr("report.no_file_next"))
    return found[0]


def _write_charts(charts: tuple, folder: Path) -> tuple[Path, ...]:  # type: ignore[type-arg]  # Chart, imported late
    paths = tuple(folder / f"{chart.name}.svg" for chart in charts)
    for chart, path in zip(charts, paths, strict=True):
        _write(path, chart.svg)
    return paths


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperationFailed(tr("report.unwritable", path=path), evidence=error.strerror or str(error)) from error
