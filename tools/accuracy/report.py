"""Make docs/accuracy.md: every public point, what the plan says of it, what the report says.

python tools/accuracy/report.py            # writes docs/accuracy.md
python tools/accuracy/report.py --check    # exit 1 where the file is not what this would write
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from peers import ANSWERS
from points import Point, points
from predict import Prediction, predict
from subjects import subject

from fitserve.plan.calibration import default
from fitserve.plan.plan import Verdict
from fitserve.text import choose_language
from fitserve.units import GIB

PEERS = """\
`tools/accuracy/peers.py` asks kvfit 0.3.0 and VRAMScout 0.7.0 (both from PyPI) for the memory of one request of the
point's length; the report's own pool divided by it is the concurrency they stand for. fitserve's is what the table
above has (with the freedom of the rounded pool that is told there). Where the others are near, the model has no
recurrent state or the request is long; where they are not, vLLM's large blocks and the state copies of prefix caching
are what they leave out. They are asked what they offer: a 16-bit or fp8 cache, no drafts."""
PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"


def gib(value: int | None) -> str:
    """Bytes as GiB with two decimals, a dash for unknown."""
    return "–" if value is None else f"{value / GIB:.2f}"


def page(found: list[Prediction]) -> str:
    """The whole page."""
    lines = [*_head(), *_tokens(found), *_peers(found), *_others(found), *_verdicts(found), *_not_compared(found)]
    return "\n".join(lines) + "\n"


def _head() -> Iterator[str]:
    yield "# How well the plan predicts"
    yield ""
    yield "Made by `python tools/accuracy/report.py` from `tools/accuracy/points.jsonl`: public reports of real starts"
    yield "(each with its source there) and our own runs. The code that answers `fitserve plan` is asked with the"
    yield "settings that the report states, and with vLLM's defaults for the rest. Weights are the report's own figure"
    yield "where it has one (the headers of most builds are not at hand)."
    yield ""


def _tokens(found: list[Prediction]) -> Iterator[str]:
    rows = [item for item in found if item.tokens is not None]
    exact = [item for item in rows if item.tokens == item.point.truth.tokens and not item.blocks_off]
    yield "## Cache: tokens to the token"
    yield ""
    yield f"{len(exact)} of {len(rows)} points are met to the token. The printed pool is rounded (to 0.01 or 0.1 GiB),"
    yield "so the number of blocks is taken from within that rounding; a wrong block size, group or state count would"
    yield "not meet the printed tokens from there. Without a pool (–), the tokens must invert to whole blocks."
    yield ""
    yield "| point | vLLM | ranks | cache | pool GiB | predicted | printed | concurrency |"
    yield "|---|---|---|---|---|---|---|---|"
    for item in rows:
        point, truth = item.point, item.point.truth
        mark = "" if item in exact else " ✗"
        pool = "–" if truth.pool is None else f"{truth.pool:g}"
        yield (
            f"| {point.id} | {point.version} | {point.ranks or 1} | {point.kv_dtype} | {pool} | {item.tokens:,} |"
            f" {truth.tokens:,}{mark} | {item.times:.2f} |"
        )
    yield ""


def _peers(found: list[Prediction]) -> Iterator[str]:
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    yield "## Two other planners on the same points"
    yield ""
    yield from PEERS.splitlines()
    yield ""
    yield "| point | printed | fitserve | kvfit | VRAMScout |"
    yield "|---|---|---|---|---|"
    errors: dict[str, list[float]] = {}
    for item in found:
        truth, length = item.point.truth, item.point.length
        if item.point.id not in answers or truth.pool is None or truth.tokens is None or length is None:
            continue
        real = truth.tokens / length
        cells = [f"{item.times or 0:.2f}"]
        errors.setdefault("fitserve", []).append(abs((item.times or 0) / real - 1))
        for peer in ("kvfit", "vramscout"):
            gib_each = answers[item.point.id][peer]
            if gib_each is None:
                cells.append("no answer")
                continue
            times = truth.pool / gib_each
            errors.setdefault(peer, []).append(abs(times / real - 1))
            cells.append(f"{times:.2f} ({times / real - 1:+.0%})")
        yield f"| {item.point.id} | {real:.2f} | {' | '.join(cells)} |"
    summary = ", ".join(f"{name} {statistics.median(values):.1%}" for name, values in errors.items())
    worst = ", ".join(f"{name} {max(values):.0%}" for name, values in errors.items())
    yield ""
    yield f"Median error: {summary}. Largest: {worst}."
    yield ""


def _others(found: list[Prediction]) -> Iterator[str]:
    rows = [item for item in found if item.other_truth is not None]
    bare = {item.point.id: predict(item.point, default()) for item in rows}
    hit = sum(bool(item.covered) for item in rows)
    held = sum(bool(bare[item.point.id].covered) for item in rows)
    yield "## Everything in the budget but weights and cache"
    yield ""
    yield f"Of {len(rows)} points that state weights, cache and utilization, {hit} lie in the interval that a plan"
    yield "shows. The files in `src/fitserve/plan/calibration/` were made from some of these points (`own file` names"
    yield f"it); with the common file alone, {held} of {len(rows)} lie in their interval. The spans of the common file"
    yield "too were chosen with these points in view: this page shows that they hold what is known, not how they do on"
    yield "new starts."
    yield "Every new start that is measured goes into it (`fitserve calibrate`)."
    yield ""
    yield "| point | vLLM | truth GiB | interval | width | own file | common file | width |"
    yield "|---|---|---|---|---|---|---|---|"
    for item in rows:
        other = bare[item.point.id]
        yield (
            f"| {item.point.id} | {item.point.version} | {gib(item.other_truth)} | {_span(item)} | {_width(item)} |"
            f" {item.calibration if item.calibration != 'default' else '–'} | {_span(other)} | {_width(other)} |"
        )
    yield ""


def _span(item: Prediction) -> str:
    return f"{gib(item.other_low)}–{gib(item.other_high)}{'' if item.covered else ' ✗'}"


def _width(item: Prediction) -> str:
    return gib((item.other_high or 0) - (item.other_low or 0))


def _verdicts(found: list[Prediction]) -> Iterator[str]:
    rows = [item for item in found if item.judgement is not None]
    tight = sum(item.judgement.verdict is Verdict.TIGHT for item in rows if item.judgement)
    yield "## Verdicts"
    yield ""
    yield f"{len(rows)} points state enough for a verdict; {tight} of them are `tight`. A start that ran must not be"
    yield "`does_not_fit`, one that failed for memory must not be `fits`, and with its cure it must not be"
    yield "`does_not_fit` (held by `tests/plan/test_accuracy.py`)."
    yield ""
    yield "| point | vLLM | verdict | what happened | what the plan says |"
    yield "|---|---|---|---|---|"
    for item in rows:
        assert item.judgement is not None
        verdict, why = item.judgement.verdict.value, item.judgement.obstacle or ""
        yield f"| {item.point.id} | {item.point.version} | {verdict} | {item.point.outcome} | {why} |"
    yield ""


def _not_compared(found: list[Prediction]) -> Iterator[str]:
    yield "## What is not compared, and why"
    yield ""
    for item in found:
        reason = _reason(item)
        if reason:
            yield f"- {item.point.id}: {reason}."
    yield ""
    yield "## What was added to a report because only that fits its own figures"
    yield ""
    for item in found:
        if item.point.inferred:
            yield f"- {item.point.id}: {item.point.inferred}."


def _reason(item: Prediction) -> str:
    point: Point = item.point
    if point.truth.tokens is not None and item.tokens is None:
        return point.kv_reason or (
            "its shape is not in the families" if subject(point.model) is None else "unknown cache"
        )
    if item.tokens is None and item.judgement is None and item.other_truth is None:
        return "states neither tokens nor enough for a verdict" + (f" ({point.kv_reason})" if point.kv_reason else "")
    return ""


def main() -> int:
    """Write the page, or compare it."""
    choose_language("en")
    text = page([predict(point) for point in points()])
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
