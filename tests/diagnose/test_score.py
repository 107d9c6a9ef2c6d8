"""The labelled cases are told right as often as is asked, and as often with their free parts changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools" / "doctor_score"))

from cases import cases, changed
from score import tallied

TOOL = Path(__file__).parent.parent.parent / "tools" / "doctor_score"
COUNTED = [case for case in cases() if case.current and case.sure]


@pytest.mark.parametrize("alter", [lambda case: case, changed], ids=["as reported", "free parts changed"])
def test_score(alter):
    tally = tallied([alter(case) for case in COUNTED])[""]
    assert tally.cases == 63
    assert tally.stage >= 0.95 * tally.cases, tally.missed
    assert tally.cause >= 0.92 * tally.cases, tally.missed
    assert tally.cure >= 0.80 * tally.curable


def test_changed_cases_are_changed():
    assert all(changed(case).log != case.log for case in COUNTED if any("pid=" in line for line in case.log))


def test_the_tables_in_the_docs_are_the_computed_ones():
    check = [sys.executable, str(TOOL), "--check"]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 0
