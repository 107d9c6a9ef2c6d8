"""Make the part of docs/measured.md that is about GPUs from the kept results (tests/data/gpu).

PYTHONPATH=src python tools/gpu_lab/report.py            # writes docs/measured.md between its two marks
PYTHONPATH=src python tools/gpu_lab/report.py --check    # exit 1 where the page is not what this would write
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / "tests" / "data" / "gpu"
PAGE = HERE.parents[1] / "docs" / "measured.md"
FINDINGS = HERE / "findings.md"
BEGIN, END = "<!-- made by tools/gpu_lab/report.py -->", "<!-- end -->"
GIB = 2**30
LEDGER_NOTE = """\
GiB of one rank. Predicted: what the planner said of these settings on the capped card before the start, with the
calibration that it had then. Measured: vLLM's own figures (rounded to 0.01), each rank; the probe from the card's
memory (a part of it may come from what torch already held). ✗: outside of the interval by more than the rounding.
`weights` holds the rotation table here. Tokens: the plan's, the log's, and whether the log's follow to the token from
the measured pool by the plan's arithmetic."""
STAGE_NOTE = """\
GiB beyond what the hold itself takes (NVML, twice a second): the most within the stage; then what was left of the cap
when it answered, and at the end of what was measured."""
LOAD_NOTE = """\
`fitserve bench`'s own generator: one picture a request, 64 tokens out, closed loop. The whole runs are kept as
`tests/data/gpu/*.bench.jsonl` (`fitserve report FILE`)."""
Case = dict[str, Any]
sys.path.insert(0, str(HERE))  # also where a test loads this file by its path

from chinese import chinese  # noqa: E402 - a neighbour, found by the line above
from report_service import attention_lines, service_lines  # noqa: E402 - a neighbour, found by the line above


def results() -> list[Case]:
    """All kept cases, in the order of cases.toml as far as they stand there."""
    import tomllib

    order = list(tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8")))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in KEPT.glob("*.json")]
    found = [case for case in found if case["kind"] == "gpu_case"]
    return sorted(found, key=lambda case: (order.index(case["name"]) if case["name"] in order else 99, case["name"]))


def page(found: list[Case]) -> str:
    """The tables, below the findings."""
    on_gpu = [case for case in found if case.get("cards")]
    begun = [case for case in on_gpu if case.get("log")]
    alone = [case for case in begun if case.get("alone", True)]
    parts: list[Iterable[str]] = [
        service_lines(_table("h200-service.json")),
        _starts(begun),
        _ledgers(alone),
        _stages(alone),
        _loads(begun),
        _pictures(alone),
        attention_lines(_table("h200-notes.json")),
        _scores(found),
        _failures(alone),
        _not_run(found),
    ]
    return "\n".join(line for part in parts for line in part)


def pages() -> dict[Path, str]:
    """Both pages: what stands in them by hand, the findings in their language, the same tables."""
    tables = page(results())
    parts = {PAGE: (FINDINGS, tables), PAGE.with_suffix(".zh.md"): (FINDINGS.with_suffix(".zh.md"), chinese(tables))}
    return {
        path: written(path.read_text(encoding="utf-8"), findings.read_text(encoding="utf-8") + text)
        for path, (findings, text) in parts.items()
    }


def _table(name: str) -> dict[str, Any]:
    return dict(json.loads((KEPT / name).read_text(encoding="utf-8")))


def _starts(found: list[Case]) -> Iterator[str]:
    yield "### Starts"
    yield ""
    yield "Seconds from the process's start. The log's own parts: compile, the first pass after it, capture."
    yield ""
    yield "| case | settings | outcome | /health | first picture | compile | first pass | capture |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in found:
        started, log = case["started"], case["log"]
        yield _line(
            case["name"], _settings(case["settings"]), case["outcome"].replace("_", " "), _s(started["healthy_s"]),
            _s(started["answered_s"]), *(_s(log.get(key)) for key in ("compile_s", "first_pass_s", "capture_s")),
        )  # fmt: skip
    yield ""


def _settings(settings: dict[str, Any]) -> str:
    words = [
        f"TP {settings['tensor_parallel_size']}",
        "eager" if settings["enforce_eager"] else "graphs",
        f"length {settings['max_model_len']:,}",
        f"{settings['max_num_seqs']} sequences",
        f"{settings['max_num_batched_tokens']:,} a step",
        f"KV {settings['kv_cache_dtype']}",
    ]
    return ", ".join(words)


def _ledgers(found: list[Case]) -> Iterator[str]:
    yield "### Ledger: predicted before the run, and measured"
    yield ""
    yield LEDGER_NOTE
    yield ""
    yield "| case | row | predicted | measured | |"
    yield "|---|---|---|---|---|"
    for case in found:
        for name, low, high, values in ledger_rows(case):
            cells = " / ".join(_gib(value) for value in dict.fromkeys(round(value, -5) for value in values))
            span = _gib(low) if low == high else f"{_gib(low)}–{_gib(high)}"
            mark = "" if all(_inside(name, low, high, value) for value in values) else "✗"
            yield _line(case["name"], f"`{name}`", span, cells, mark)
        planned, kept = (case.get("predicted") or {}).get("kv"), case["log"].get("kv_tokens")
        if planned and kept:
            follows = "to the token" if _follows(case, planned, kept) else "✗"
            off = kept / planned["tokens"] - 1
            yield _line(case["name"], "cache, tokens", f"{planned['tokens']:,}", f"{kept:,} ({off:+.1%})", follows)
    yield ""


def _inside(name: str, low: float, high: float, value: float) -> bool:
    if name == "graph_probe":
        return value <= high * 1.05
    slack = 0.0101 * GIB
    return low - slack <= value <= high + slack


def _follows(case: Case, planned: dict[str, Any], tokens: int) -> bool:
    """Whether a whole number of blocks within the rounding of the printed pool prints these tokens."""
    pool = min(_values(list(case["log"]["ranks"].values()), "available"))
    length, block = case["settings"]["max_model_len"], planned["bytes_per_block"]
    blocks = range(int((pool - 0.005 * GIB) // block), int((pool + 0.005 * GIB) // block) + 1)
    return any(int(count / planned["blocks_per_request"] * length) == tokens for count in blocks)


def ledger_rows(case: Case) -> Iterator[tuple[str, float, float, list[float]]]:
    """(item, low, high, measured of each rank) in bytes, for what was measured."""
    ranks = list(case["log"]["ranks"].values())
    predicted = {row["item"]: row for row in (case.get("predicted") or {}).get("ledger", [])}
    kept = {
        name: _values(ranks, name) for name in ("free_at_start", "loaded", "peak", "non_torch", "graphs", "available")
    }
    fixed = sum(
        predicted[name]["expected"] for name in ("workspace", "encoder_cache", "runner_state") if name in predicted
    )
    free = case["cards"][0]["free_bytes"]
    measured = {
        "context": [free - value for value in kept["free_at_start"]],
        "weights": kept["loaded"],
        "activation_peak": [value - fixed for value in kept["peak"]],
        "non_torch": kept["non_torch"],
        "graphs": kept["graphs"],
        "kv_pool": kept["available"],
        "graph_probe": [float(size) for size in case.get("probe_seen_bytes") or []],
    }
    for name, values in measured.items():
        if values and name in predicted:
            rope = predicted["rope_cache"] if name == "weights" else {"low": 0, "high": 0}
            yield name, predicted[name]["low"] + rope["low"], predicted[name]["high"] + rope["high"], values


def _values(ranks: list[dict[str, float]], name: str) -> list[float]:
    return [rank[name] * GIB for rank in ranks if name in rank]


def _stages(found: list[Case]) -> Iterator[str]:
    yield "### Memory of each card by stage"
    yield ""
    yield STAGE_NOTE
    yield ""
    yield "| case | to snapshot | weights | profiling | probe | cache, capture | answering | free then | at the end |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for case in found:
        stages = {stage["stage"]: stage["most_bytes"] for stage in case["stages"]}
        cells = [_gibs(stages.get(name)) for name in ("process", "weights", "profiling", "graph_probe", "cache")]
        base, cap = case["held_bytes"], case["cards"][0]["free_bytes"]
        answering = [used - held for used, held in zip(case.get("answering_bytes") or [], base, strict=False)]
        after = [used - held for used, held in zip(case.get("after_bytes") or [], base, strict=False)]
        if case["outcome"] != "answered":
            answering = after = []
        yield _line(
            case["name"], *cells, _gibs(answering), *(_gibs([cap - x for x in each]) for each in (answering, after))
        )
    yield ""


def _loads(found: list[Case]) -> Iterator[str]:
    rows = [(case, load) for case in found for load in _of(case, "load:graphs", "load:eager", "load:few")]
    yield "### Loads"
    yield ""
    yield LOAD_NOTE
    yield ""
    yield "| case | picture px | users | requests | tokens/s | TTFT ms, median (p99) | ms a token, median | remarks |"
    yield "|---|---|---|---|---|---|---|---|"
    for case, load in rows:
        figures = load["figures"]
        yield _line(
            case["name"], load["side"], load["users"], figures["answered"],
            f"{figures['throughput']['output_tokens']:.0f}", _spread(figures["first_token_s"], "p99"),
            _spread(figures["time_per_token_s"]), ", ".join([*load["invalid"], *load["notes"]]),
        )  # fmt: skip
    yield ""


def _pictures(found: list[Case]) -> Iterator[str]:
    yield "### Single requests: pictures in a row, and the longest prompt"
    yield ""
    yield "Eight tokens out. Each card's GiB: before, and how much it grew at the request's peak (20 ms looks)."
    yield ""
    yield "| case | request | prompt tokens | seconds | before | grew by | |"
    yield "|---|---|---|---|---|---|---|"
    for case in found:
        base = case["held_bytes"]
        for row in (*_of(case, "first"), *_of(case, "long"), *_of(case, "pictures"), *_of(case, "largest")):
            what = f"{row['width']} × {row['height']} px" if "width" in row else "a prompt of the full length"
            before = [used - held for used, held in zip(row["before_bytes"], base, strict=True)]
            grew = [most - used for most, used in zip(row["peak_bytes"], row["before_bytes"], strict=True)]
            failed = "" if row["status"] == 200 else f"failed: {row['status']}"
            yield _line(
                case["name"], what, row.get("prompt_tokens", "–"), row["seconds"], _gibs(before), _gibs(grew, 3), failed
            )
    yield ""


def _scores(found: list[Case]) -> Iterator[str]:
    rows = [(case, score) for case in found if isinstance(score := (case.get("measured") or {}).get("score"), dict)]
    rows = [(case, score) for case, score in rows if "right" in score]
    if not rows:
        return
    yield "### Right answers"
    yield ""
    yield "| case | asked | right | English | Chinese |"
    yield "|---|---|---|---|---|"
    for case, score in rows:
        yield _line(
            f"{case['host']}: {case['name']}",
            score["asked"],
            score["right"],
            f"{score['en']:.1%}",
            f"{score['zh']:.1%}",
        )
    yield ""


def _failures(found: list[Case]) -> Iterator[str]:
    told = [case for case in found if case.get("doctor")]
    yield "### What the doctor said of the failures"
    yield ""
    for case in told:
        for finding in case["doctor"]:
            fixes = "; ".join(json.dumps(fix) for fix in finding["fixes"] if fix) or "none by a flag"
            cause, sure = finding["cause"], finding["confidence"]
            yield f"- {case['name']}: `{cause}` ({sure}). {finding['summary']} Changes: {fixes}."
    yield ""


def _not_run(found: list[Case]) -> Iterator[str]:
    import tomllib

    cases = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
    known = {case["name"]: case for case in found}
    yield "### Not run, or not to the end"
    yield ""
    for name, case in cases.items():
        if name == "loads":
            continue
        kept = known.get(name)
        if kept is None or kept["outcome"] == "not_run":
            yield f"- {name} ({case['why']}): not run."
        elif kept["outcome"] == "timed_out":
            yield f"- {name} ({case['why']}): its time ended before it answered; it had come to «{_last_stage(kept)}»."
        else:
            left = [step for step, value in (kept.get("measured") or {}).items() if "not_run" in value]
            if left:
                yield f"- {name}: answered; not run for want of time: {', '.join(left)}."


def _last_stage(case: Case) -> str:
    names = [stage["stage"] for stage in case.get("stages", [])]
    return names[-1].replace("_", " ") if names else "?"


def _of(case: Case, *steps: str) -> list[dict[str, Any]]:
    """The rows of the first of these steps that has any."""
    for step in steps:
        value = (case.get("measured") or {}).get(step)
        if isinstance(value, list):
            return value
        if isinstance(value, dict) and "status" in value:
            return [value]
    return []


def _spread(spread: dict[str, Any] | None, far: str = "") -> str:
    if spread is None:
        return "–"
    quantiles = spread["quantiles"]
    digits = 0 if quantiles["p50"] >= 0.1 else 1
    text = f"{quantiles['p50'] * 1000:.{digits}f}"
    return f"{text} ({quantiles[far] * 1000:.0f})" if far else text


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _s(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _gib(value: float, digits: int = 2) -> str:
    return f"{value / GIB:.{digits}f}"


def _gibs(values: list[Any] | None, digits: int = 2) -> str:
    if not values:
        return "–"
    return " / ".join(dict.fromkeys(_gib(value, digits) for value in values))


def written(text: str, part: str) -> str:
    """The page with its part between the marks replaced. Raises ValueError where a mark is missing."""
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n\n{part}\n{END}{after}"


def main() -> int:
    """Write the pages, or compare them."""
    made = pages()
    if "--check" in sys.argv:
        return int(any(path.read_text(encoding="utf-8") != text for path, text in made.items()))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
