"""Make docs/accuracy.md and its Chinese twin: every public point, what the plan says of it, what the report says.

python tools/accuracy/report.py            # writes both pages
python tools/accuracy/report.py --check    # exit 1 where a file is not what this would write
"""

from __future__ import annotations

import json
import statistics
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers import ANSWERS
from points import points
from predict import Prediction, predict
from subjects import subject

from fitserve.plan.calibration import default
from fitserve.plan.judge import judge
from fitserve.plan.plan import Verdict
from fitserve.text import LANGUAGES, in_language
from fitserve.units import GIB

DOCS = Path(__file__).parents[2] / "docs"
WORDS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
Cell = str | Mapping[str, str]  # a sentence stands there in each language


@dataclass(frozen=True)
class Section:
    """Figures and rows, computed once; `words.toml` has what stands around them under the same name."""

    name: str
    rows: list[Sequence[Cell]]
    figures: Mapping[str, float] = field(default_factory=dict)


def pages(found: list[Prediction]) -> dict[Path, str]:
    """Both pages, by where they stand."""
    parts = (_tokens(found), _peers(found), _others(found), _verdicts(found), _not_compared(found), _added(found))
    return {
        DOCS / "accuracy.md": "\n".join(_written("en", parts)),
        DOCS / "accuracy.zh.md": "\n".join(_written("zh", parts)),
    }


def _written(language: str, parts: Sequence[Section]) -> Iterator[str]:
    words = WORDS[language]
    yield from (f"# {words['title']}", "", words["twin"], "", words["head"])
    for part in parts:
        own = words[part.name]
        yield from (f"## {own['title']}", "")
        if "text" in own:
            yield own["text"].format(**part.figures)
        rows = [[cell if isinstance(cell, str) else cell[language] for cell in row] for row in part.rows]
        if "columns" in own:
            yield from (_line(own["columns"]), "|" + "---|" * len(own["columns"]), *map(_line, rows))
        else:
            yield from (words["listed"].format(*row) for row in rows)
        yield ""
        if "after" in own:
            yield own["after"].format(**part.figures)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def said(sentence: str) -> Cell:
    """An English sentence of ours or of the points, in each language."""
    return {"en": sentence, "zh": WORDS["zh"]["said"][sentence]} if sentence else ""


def gib(value: int | None) -> str:
    """Bytes as GiB with two decimals, a dash for unknown."""
    return "–" if value is None else f"{value / GIB:.2f}"


def _tokens(found: list[Prediction]) -> Section:
    compared = [item for item in found if item.tokens is not None]
    exact = [item for item in compared if item.tokens == item.point.truth.tokens and not item.blocks_off]
    rows: list[Sequence[Cell]] = []
    for item in compared:
        point, truth = item.point, item.point.truth
        pool = "–" if truth.pool is None else f"{truth.pool:g}"
        printed = f"{truth.tokens:,}{'' if item in exact else ' ✗'}"
        shape = (point.id, point.version, str(point.ranks or 1), point.kv_dtype, pool)
        rows.append((*shape, f"{item.tokens:,}", printed, f"{item.times:.2f}"))
    return Section("tokens", rows, {"exact": len(exact), "rows": len(rows)})


def _peers(found: list[Prediction]) -> Section:
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    rows: list[Sequence[Cell]] = []
    errors: dict[str, list[float]] = {"fitserve": [], "kvfit": [], "vramscout": []}
    for item in found:
        truth, length = item.point.truth, item.point.length
        if item.point.id not in answers or truth.pool is None or truth.tokens is None or length is None:
            continue
        real = truth.tokens / length
        errors["fitserve"].append(abs((item.times or 0) / real - 1))
        cells: list[Cell] = [item.point.id, f"{real:.2f}", f"{item.times or 0:.2f}"]
        for peer in ("kvfit", "vramscout"):
            gib_each = answers[item.point.id][peer]
            if gib_each is None:
                cells.append(said("no answer"))
                continue
            times = truth.pool / gib_each
            errors[peer].append(abs(times / real - 1))
            cells.append(f"{times:.2f} ({times / real - 1:+.0%})")
        rows.append(cells)
    medians = {f"{name}_median": statistics.median(values) for name, values in errors.items()}
    return Section("peers", rows, medians | {f"{name}_most": max(values) for name, values in errors.items()})


def _others(found: list[Prediction]) -> Section:
    stated = [item for item in found if item.other_truth is not None]
    bare = [predict(item.point, default()) for item in stated]
    rows: list[Sequence[Cell]] = []
    for item, other in zip(stated, bare, strict=True):
        own = item.calibration if item.calibration != "default" else "–"
        start = (item.point.id, item.point.version, gib(item.other_truth))
        rows.append((*start, _span(item), _width(item), own, _span(other), _width(other)))
    hit, held = (sum(bool(item.covered) for item in group) for group in (stated, bare))
    return Section("others", rows, {"rows": len(rows), "hit": hit, "held": held})


def _span(item: Prediction) -> str:
    return f"{gib(item.other_low)}–{gib(item.other_high)}{'' if item.covered else ' ✗'}"


def _width(item: Prediction) -> str:
    return gib((item.other_high or 0) - (item.other_low or 0))


def _verdicts(found: list[Prediction]) -> Section:
    rows: list[Sequence[Cell]] = []
    tight = 0
    for item in found:
        if item.judgement is None:
            continue
        verdict = item.judgement.verdict
        tight += verdict is Verdict.TIGHT
        start = (item.point.id, item.point.version, verdict.value)
        rows.append((*start, said(item.point.outcome), _obstacle(item)))
    return Section("verdicts", rows, {"rows": len(rows), "tight": tight})


def _obstacle(item: Prediction) -> Cell:
    """The plan's own sentence, which the judge speaks in the language in force."""
    if item.rank is None or item.judgement is None or not item.judgement.obstacle:
        return ""
    out = {}
    for language in LANGUAGES:
        with in_language(language):
            out[language] = judge(item.rank).obstacle
    return out


def _not_compared(found: list[Prediction]) -> Section:
    reasons = ((item.point.id, _reason(item)) for item in found)
    return Section("not_compared", [(name, said(reason)) for name, reason in reasons if reason])


def _added(found: list[Prediction]) -> Section:
    return Section("added", [(item.point.id, said(item.point.inferred)) for item in found if item.point.inferred])


def _reason(item: Prediction) -> str:
    point = item.point
    if point.truth.tokens is not None and item.tokens is None:
        return point.kv_reason or (
            "its shape is not in the families" if subject(point.model) is None else "unknown cache"
        )
    if item.tokens is None and item.judgement is None and item.other_truth is None:
        return "states neither tokens nor enough for a verdict" + (f" ({point.kv_reason})" if point.kv_reason else "")
    return ""


def main() -> int:
    """Write the pages, or compare them."""
    made = pages([predict(point) for point in points()])
    if "--check" in sys.argv:
        return int(any(not path.exists() or path.read_text(encoding="utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
