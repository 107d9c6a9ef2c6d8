"""What an install would bring, and how large it is, by pip's own dry run: nothing is changed."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fitserve.engines.build import fill
from fitserve.engines.install import parse_spec
from fitserve.engines.packages import Pip, pip_runner
from fitserve.engines.progress import Progress
from fitserve.text import tr
from fitserve.units import format_bytes

SECONDS = 10.0
AT_ONCE = 8


@dataclass(frozen=True)
class Item:
    """One package that would be installed. `size_bytes` is None where the source does not say."""

    name: str
    version: str
    url: str
    size_bytes: int | None = None


@dataclass(frozen=True)
class DryRun:
    """What an install would bring."""

    package: str
    items: tuple[Item, ...]

    @property
    def known_bytes(self) -> int:
        """The download, as far as sizes are known."""
        return sum(item.size_bytes or 0 for item in self.items)

    def document(self) -> dict[str, object]:
        """`engine install --dry-run --json`."""
        rows = [{"name": item.name, "version": item.version, "size_bytes": item.size_bytes} for item in self.items]
        return {"schema_version": 1, "kind": "dry_run", "package": self.package, "packages": rows}

    def lines(self) -> Iterator[str]:
        """The largest ten by name, the rest as a sum."""
        ranked = sorted(self.items, key=lambda item: -(item.size_bytes or 0))
        unknown = sum(item.size_bytes is None for item in self.items)
        key = "engines.would_install_at_least" if unknown else "engines.would_install"
        size = format_bytes(self.known_bytes)
        yield tr(key, package=self.package, count=len(self.items), size=size, unknown=unknown)
        for item in ranked[:10]:
            size = tr("engines.size_unknown") if item.size_bytes is None else format_bytes(item.size_bytes)
            yield f"  {item.name} {item.version}  {size}"
        if ranked[10:]:
            rest = sum(item.size_bytes or 0 for item in ranked[10:])
            yield "  " + tr("engines.would_rest", count=len(ranked) - 10, size=format_bytes(rest))


@dataclass
class Reports:
    """In pip's place: what each `pip install` would have installed."""

    pip: Pip
    items: list[Item] = field(default_factory=list)

    def install(self, *arguments: str, detail: Callable[[str], None]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            self.pip.run("--dry-run", "--ignore-installed", "--report", str(report), *arguments, detail=detail)
            self.items += read_report(report.read_text(encoding="utf-8"))


def dry_run(spec: str, progress: Progress, log: Path) -> DryRun:
    """Ask pip. Raises what an install would raise for a spec or a package that can't be had."""
    recipe = parse_spec(spec)
    reports = Reports(Pip(Path(sys.executable), pip_runner(), log))
    fill(recipe, reports, lambda: True, progress)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sizes = list(pool.map(size_of, [item.url for item in reports.items]))
    return DryRun(
        recipe.package,
        tuple(Item(item.name, item.version, item.url, size) for item, size in zip(reports.items, sizes, strict=True)),
    )


def read_report(text: str) -> list[Item]:
    """Packages of pip's installation report (format version 1)."""
    return [
        Item(row["metadata"]["name"], row["metadata"]["version"], row["download_info"]["url"])
        for row in json.loads(text)["install"]
    ]


def size_of(url: str) -> int | None:
    """The size of a file at a file: or http(s): address, None where it isn't told."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        return path.stat().st_size if path.is_file() else None
    import httpx2

    try:
        answer = httpx2.head(url, follow_redirects=True, timeout=SECONDS)
        return int(answer.headers["content-length"]) if answer.is_success else None
    except (httpx2.HTTPError, KeyError, ValueError):
        return None
