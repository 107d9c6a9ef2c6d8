"""`fitserve report`: kept measurements as one page that opens anywhere, or as Markdown, with its charts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fitserve.errors import NotFound, OperationFailed, ToolMissing
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
@click.option("--charts", type=click.Path(path_type=Path), metavar="FOLDER", help="each chart as SVG and PNG, too")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
def command(files: tuple[Path, ...], output: Path, charts: Path | None, as_json: bool) -> None:
    from fitserve.report.build import build
    from fitserve.report.read import read_measured
    from fitserve.text.catalog import LANGUAGES

    measured = [read_measured(path) for path in files or (_latest(),)]
    mine = current_language()
    reports = [build(measured, language) for language in (mine, *(one for one in LANGUAGES if one != mine))]
    drawn = _write_charts(reports, charts) if charts else []
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


def _write_charts(reports: list, folder: Path) -> list[Path]:  # type: ignore[type-arg]  # Report, imported late
    drawn = [_write(folder / f"{chart.name}.svg", chart.svg) for chart in reports[0].charts]
    return drawn + _write_pngs(reports, folder)


def _write_pngs(reports: list, folder: Path) -> list[Path]:  # type: ignore[type-arg]  # as above
    """In the first report's language where a font here can write it; none, and a word why, where none can be drawn."""
    from fitserve.report.png import INSTALL_FONTS, language_for, png

    try:
        language = language_for(reports[0].language)
        charts = next(report.charts for report in reports if report.language == language)
        drawn = [_write(folder / f"{chart.name}.png", png(chart.svg)) for chart in charts]
    except ToolMissing as missing:
        click.echo(f"{missing.message}\n  {tr('failure.next')}{missing.hint}", err=True)
        return []
    if language != reports[0].language:
        click.echo(f"{tr('report.png_in_english')}\n  {tr('failure.next')}{INSTALL_FONTS}", err=True)
    return drawn


def _write(path: Path, content: str | bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise OperationFailed(tr("report.unwritable", path=path), evidence=error.strerror or str(error)) from error
    return path
