"""Files of measurements to a report, in any language."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from fitserve.measure.words import listed
from fitserve.report.bench import bench_sections
from fitserve.report.compare import compare_sections
from fitserve.report.content import Raw, Report, Section, Table
from fitserve.report.read import Measured
from fitserve.text import in_language, tr
from fitserve.units import format_bytes

RAW_LIMIT = 8 * 1024 * 1024  # bytes of one file that travel inside the page


def build(files: Sequence[Measured], language: str) -> Report:
    """The report on all files, in one language."""
    with in_language(language):
        sections: list[Section] = []
        for measured in files:
            sections.append(_about(measured))
            sections += (
                compare_sections(measured) if measured.starts or "plan" in measured.head else bench_sections(measured)
            )
        raw = tuple(Raw(one.path.name, one.path.read_bytes()) for one in files if one.path.stat().st_size <= RAW_LIMIT)
        left = [str(one.path) for one in files if one.path.stat().st_size > RAW_LIMIT]
        if left:
            sections.append(Section(tr("report.raw"), sentences=(tr("report.raw_left", files=listed(left)),)))
        return Report(language, tr("report.title"), tuple(sections), raw)


def _about(measured: Measured) -> Section:
    """When, on what, with what."""
    head, host = measured.head, measured.head.get("host") or {}
    gpus = host.get("gpus")
    cards = ", ".join(f"{gpu['name']} {format_bytes(gpu['total_bytes'])}" for gpu in gpus or [])
    moment = datetime.datetime.fromtimestamp(measured.at, datetime.UTC)
    rows = [
        ("when", f"{moment:%Y-%m-%d %H:%M} UTC"),
        ("host", f"{host.get('system')}, {host.get('cpu')}, {host.get('cores')} × CPU"),
        ("memory_of_host", format_bytes(host["memory_bytes"]) if isinstance(host.get("memory_bytes"), int) else "?"),
        ("gpus", tr("report.gpus_unknown") if gpus is None else cards or tr("report.no_gpu")),
        *_engine(measured),
        ("fitserve", str(head.get("fitserve"))),
        ("file", measured.path.name),
    ]
    table = Table(("", ""), tuple((tr(f"report.about_{key}"), value) for key, value in rows))
    return Section(tr("report.about"), tables=(table,))


def _engine(measured: Measured) -> list[tuple[str, str]]:
    target = measured.head.get("target") or {}
    deployment = measured.head.get("deployment") or next((s.deployment for s in measured.starts if s.deployment), {})
    version = target.get("engine_version")
    rows = [
        ("model", target.get("model") or deployment.get("model")),
        ("engine", deployment.get("engine") or (f"vLLM {version}" if version else None)),
        ("url", target.get("url")),
    ]
    return [(key, str(value)) for key, value in rows if value]
