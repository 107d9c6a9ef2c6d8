"""The parts of docs/measured.md about fitserve's own run on a card, and about the tower's attention."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

GIB = 2**30
FAULTS = """\
Seconds after the signal; `stopped` is a small deployment beside others, `living` has the card almost to itself. Memory
back: when the driver no longer showed the engine's part of it. Each was asked a picture at the end and answered."""
PRESSED = """\
Another process took all that was left of the card in the middle of a start (`press.py`), and gave it back when the
engine had died of it."""


def service_lines(table: dict[str, Any]) -> Iterator[str]:
    """The commands, the faults, the starts without memory."""
    yield "### fitserve itself on the card"
    yield ""
    yield "| lane | what | seconds | exit | |"
    yield "|---|---|---|---|---|"
    for step in table["steps"]:
        if "words" in step:
            yield _row(step["lane"], step["step"], f"{step['seconds']:.1f}", step["code"], _said(step))
    yield ""
    yield FAULTS
    yield ""
    yield "| fault | deployment | noticed | memory back | next engine | answers again |"
    yield "|---|---|---|---|---|---|"
    for step in table["steps"]:
        if "changes" in step:
            yield _row(step["step"], step["lane"], *_fault(step))
    yield ""
    yield PRESSED
    yield ""
    for step in table["steps"]:
        if step["lane"] == "shortage" and step["step"].startswith("up"):
            yield from _shortage(step)
    yield ""


def _said(step: dict[str, Any]) -> str:
    """A word on the answer, where there is one."""
    told = step.get("told") or {}
    if "checks" in told:
        states = [check["state"] for check in told["checks"]]
        bad = ", ".join(check["name"] for check in told["checks"] if check["state"] in ("fail", "warn"))
        return f"{states.count('ok')} of {len(states)} ok" + (f"; {bad}" if bad else "")
    if "error" in told:
        return f"`{told['error']['code']}`"
    if told.get("state") == "answering":
        return f"«{told['probe']['answer']}» ({told['probe']['outcome']})"
    if step["step"].startswith("down"):
        return f"{_gib(step['before_bytes'])} → {_gib(step['after_bytes'])} GiB in use"
    return ", ".join(f"`{finding['cause']}`" for finding in told.get("findings", []))


def _fault(step: dict[str, Any]) -> tuple[str, ...]:
    first = step["changes"][0]["engine"]
    noticed = next(row["at_s"] for row in step["changes"] if row["state"] != "answering")
    started = next(row["at_s"] for row in step["changes"] if row["engine"] not in (first, None))
    return tuple(f"{value:.1f}" for value in (noticed, step["memory_back_s"], started, step["back_s"]))


def _shortage(step: dict[str, Any]) -> Iterator[str]:
    told = step["told"]
    for retry in told.get("retries", []):
        changed = json.dumps(retry["set"])
        yield f"- {step['step']}: `{retry['cause']}`, named in line {retry['line']}: {retry['summary']} Then {changed}."
    end = told["error"]["message"] if "error" in told else f"answering: «{told['probe']['answer']}»"
    yield f"- {step['step']}: after {step['seconds']:.0f} s {end}"


def attention_lines(table: dict[str, Any]) -> Iterator[str]:
    """What each of torch's back ends takes for one picture."""
    rows = {(row["width"], row["height"], row["heads"], row["backend"]): row for row in table["attention"]}
    backends = list(dict.fromkeys(row["backend"] for row in table["attention"]))
    yield "### The tower's attention by torch's back ends (`attention.py`)"
    yield ""
    yield "GiB beyond the inputs for one picture; 16 heads of 72 on one card, 8 on each of two."
    yield ""
    yield _row("picture px", "heads", *(name.lower().replace("_", " ") for name in backends))
    yield _row(*["---"] * (2 + len(backends)))
    for width, height, heads in dict.fromkeys(key[:3] for key in rows):
        sizes = (rows[width, height, heads, name].get("bytes") for name in backends)
        yield _row(f"{width} × {height}", heads, *("–" if size is None else f"{size / GIB:.2f}" for size in sizes))
    yield ""


def _gib(sizes: list[int]) -> str:
    return " / ".join(f"{size / GIB:.2f}" for size in sizes)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
