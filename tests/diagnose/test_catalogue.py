"""The catalogue tool finds what a package can write, and tells which patterns are left without anything to match."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools" / "catalogue"))

from patterns import all_patterns, filled, known_dead, name, unmatched
from templates import BLANK, Template, templates

from fitserve.diagnose.engine import diagnose, watched
from fitserve.diagnose.finding import Severity
from fitserve.engines.find import pick_engine
from fitserve.observe.log.match import pattern
from fitserve.observe.log.read import read_lines

TOOL = Path(__file__).parent.parent.parent / "tools" / "catalogue"
STARTED = (
    "(APIServer pid=1) INFO 09-18 11:00:01 [utils.py:299] vLLM API server version 0.32.0",
    "(Worker_TP0 pid=3) INFO 09-18 11:00:20 [parallel_state.py:12] rank 0 in world size 2 is assigned as DP rank 0",
    "(APIServer pid=1) INFO:     Application startup complete.",
)
DEAD = pattern("b", "cache", r"Nobody writes this about the cache")

SOURCE = """
def run(logger, gib, message="%storch.compile took %.2f s in total"):
    logger.info("Available KV cache memory: %s GiB", gib)
    raise ValueError(
        f"max_num_seqs ({gib}) exceeds available Mamba cache blocks "
        f"({gib}).")
    assert gib, f"block_size ({gib}) must be small enough"
"""


def package(tmp_path):
    (tmp_path / "worker.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def (")
    return tmp_path


def test_templates_are_found_with_their_blanks(tmp_path):
    found = {item.text.replace(BLANK, "…"): item.kind for item in templates(package(tmp_path))}
    assert found["Available KV cache memory: … GiB"] == "info"
    assert found["max_num_seqs (…) exceeds available Mamba cache blocks (…)."] == "raise"
    assert found["block_size (…) must be small enough"] == "assert"
    assert "…torch.compile took … s in total" in found


def test_a_pattern_without_a_template_is_reported(tmp_path):
    alive = pattern("a", "available", r"^Available KV cache memory: (-?\d+(?:\.\d+)?) GiB")
    assert unmatched([alive, DEAD], templates(package(tmp_path))) == [DEAD]


def test_the_tool_fails_where_patterns_are_dead(tmp_path):
    command = [sys.executable, str(TOOL), str(package(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kv_short/serve" in done.stdout
    assert "available_kv_gib/available" not in done.stdout


@pytest.fixture(scope="module")
def engines_own() -> list[Template]:
    """Everything that the pinned engine can write."""
    (vllm,) = pick_engine(None, "cpu").python.parent.parent.glob("lib/python3*/site-packages/vllm")
    return list(templates(vllm))


@pytest.mark.engine
@pytest.mark.timeout(600)  # the whole package is parsed
def test_what_the_pinned_engine_can_no_longer_write_is_listed(engines_own):
    """Neither a dead pattern that is not listed, nor a listed one that is alive."""
    dead = {name(item) for item in unmatched([*all_patterns(), DEAD], engines_own)}
    assert dead == known_dead() | {name(DEAD)}


@pytest.mark.engine
def test_no_information_or_warning_of_the_pinned_engine_is_called_a_failure(engines_own):
    alarms = []
    for item in engines_own:
        if item.kind in ("debug", "info", "warning"):
            text = next(filled(item.text.replace("\n", " ")))
            line = f"(Worker_TP0 pid=3) {item.kind.upper()} 09-18 11:00:30 [x.py:1] {text}"
            found = diagnose(read_lines([*STARTED, line], watched())).findings
            alarms += [(text, finding.cause) for finding in found if finding.severity is not Severity.INFO]
    assert alarms == []
