"""Logs of our own runs in the lab (`tests/data/gpu`): what went well gives no more than a remark, each end is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.finding import Diagnosis, Severity
from fitserve.observe.log.read import read_lines
from fitserve.observe.log.source import lines_of, open_log

DATA = Path(__file__).parent.parent / "data" / "gpu"
ENDED = {"h200-two-plan", "h200-two-plan-92", "h200-short-0", "h200-graphs-0", "h200-graphs-1"}
WELL = sorted(path for path in DATA.glob("*.log.gz") if path.name.removesuffix(".log.gz") not in ENDED)


def judged(path: Path) -> Diagnosis:
    with open_log(path) as stream:
        return diagnose(read_lines(lines_of(stream), watched()), Stated())


@pytest.mark.parametrize("path", WELL, ids=lambda path: path.name)
def test_what_went_well_gives_no_more_than_a_remark(path):
    diagnosis = judged(path)
    assert {finding.severity for finding in diagnosis.findings} <= {Severity.INFO}
    assert diagnosis.engine_version in ("0.22.1", "0.32.0")
    assert {"weights_gib", "weights_seconds"} & diagnosis.figures.keys()


def test_the_largest_picture_of_all_ended_a_service_that_had_answered_smaller_ones():
    """Pictures up to 1344 a side had been answered for minutes; one of 16,384 tokens found 112 MiB."""
    diagnosis = judged(DATA / "h200-two-plan.log.gz")
    (found,) = diagnosis.findings
    assert (found.cause, found.stage, found.confidence) == ("oom_runtime", "serve", "high")
    assert diagnosis.figures["asked_gib"] == pytest.approx(144 / 1024)
    assert found.fixes[0].set["--mm-processor-kwargs"]["max_pixels"] <= 1344 * 1344
    assert 0.14 < found.fixes[1].set["--gpu-memory-utilization"] < 0.151661


def test_a_share_above_what_is_free_is_lowered_to_what_then_ran():
    """The same plan started with 0.151661 afterwards."""
    (found,) = judged(DATA / "h200-two-plan-92.log.gz").findings
    assert (found.cause, found.stage) == ("gpu_memory_held", "config")
    share = next(fix.set["--gpu-memory-utilization"] for fix in found.fixes if fix.set)
    assert share == pytest.approx(0.151661, abs=0.001)


def test_a_card_that_another_process_fills_while_it_profiles():
    """`tools/gpu_lab/press.py` had taken 139.03 GiB after the engine had looked how much is free."""
    diagnosis = judged(DATA / "h200-short-0.log.gz")
    (found,) = diagnosis.findings
    assert (found.cause, found.stage) == ("gpu_memory_held", "profile")
    assert diagnosis.figures["other_process_gib"] == pytest.approx(139.03)
    assert [fix.set for fix in found.fixes] == [{}]  # no flag cures it


@pytest.mark.parametrize(
    ("number", "last"), [(0, {"--max-cudagraph-capture-size": 16}), (1, {"--enforce-eager": True})]
)
def test_a_card_that_fills_while_graphs_are_captured(number, last):
    """The second start had the shorter list already."""
    (found,) = judged(DATA / f"h200-graphs-{number}.log.gz").findings
    assert (found.cause, found.stage) == ("oom_graph_capture", "graph_capture")
    assert found.fixes[-1].set == last
