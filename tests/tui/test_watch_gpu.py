"""`watch --replay` on recorded runs of two H200: everybody can see the product at work without a card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitserve.observe.moments import read_moments
from fitserve.observe.overview import History
from fitserve.observe.signs import signs
from fitserve.observe.trend import Direction
from tui.test_watch import CONTROL, home, watch

__all__ = ["home"]  # a fixture
RUNS = sorted((Path(__file__).parent.parent / "data" / "gpu").glob("*.samples.jsonl"))


def run(name: str) -> Path:
    return next(path for path in RUNS if path.name == f"{name}.samples.jsonl")


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name.partition(".")[0])
def test_every_recorded_run_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(1 for _ in read_moments(path)) == len(path.read_text().splitlines())
    watch("--replay", str(path))
    text = capsys.readouterr().out
    assert not CONTROL.search(text)
    assert "NVIDIA H200" in text
    assert "139.80 GiB" in text
    assert "unknown °C" not in text


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name.partition(".")[0])
def test_the_figures_are_of_a_real_card(path: Path) -> None:
    for moment in read_moments(path):
        for card in moment.sample.cards or ():
            assert card.total_bytes
            assert card.used_bytes is not None
            assert card.reserved_bytes is not None
            assert 0 < card.used_bytes <= card.total_bytes - card.reserved_bytes
            assert card.processes
            assert all(process.name and process.used_bytes for process in card.processes)
            assert card.power_w is not None
            assert card.power_limit_w == 700
            assert card.slows_down_at_c == 89
            assert card.temperature_c in range(25, 89)


def test_two_ranks_under_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--replay", str(run("h200-two-plan"))) == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "GPU 1 NVIDIA H200",
        "139.62 of 139.80 GiB",
        "power limit (now, and 5 % of the time)",
        "VLLM::Worker_TP (8011) 23.35 GiB",
        "138 finished in 57 s",
        "7,234 in · 116 out",
        "p50 ≈859 ms (750 ms–1.0 s)",
        "growth unknown: 2 min of samples, 10 min needed",
        "between cards even",
    ):
        assert part in text, text


def test_two_ranks_in_figures() -> None:
    found = signs(list(read_moments(run("h200-two-plan"))), "two-plan")
    assert found.cards is not None
    assert [card.growth.direction for card in found.cards] == [Direction.UNKNOWN] * 2  # too short to tell
    assert found.throttled is found.hot is False
    assert found.balance.uneven == ()
    assert [card.hottest_c for card in found.cards] == [51, 46]


def test_a_run_that_ended_is_shown_where_it_last_answered_and_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--replay", str(run("h200-half-plan"))) == 1
    text = capsys.readouterr().out
    assert text.count("fitserve watch") == 2
    assert text.index("half-plan  answering") < text.index("half-plan  starting")


def test_json_of_a_real_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch("--replay", str(run("h200-two-articles")), "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 66
    assert rows[-1]["figures"][0]["window"]["running"] == 1


def test_a_history_that_never_answered() -> None:
    assert History(list(read_moments(run("h200-two-plan-92")))).answered() is None
