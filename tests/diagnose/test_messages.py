"""Each message that a rule knows leads to its cause and its stage, in the log it comes in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitserve.diagnose.engine import diagnose, rules, watched
from fitserve.diagnose.finding import UNKNOWN
from fitserve.observe.log.read import read_lines

DATA = Path(__file__).parent.parent / "data" / "doctor"
MESSAGES = [json.loads(line) for line in (DATA / "messages.jsonl").read_text(encoding="utf-8").splitlines()]


def name(case):
    telling = [line for line in case["log"] if "Error" in line or line.startswith("#")] or case["log"]
    return f"{case['cause']}-{telling[0][-50:]}"


@pytest.mark.parametrize("case", MESSAGES, ids=name)
def test_message(case):
    diagnosis = diagnose(read_lines(case["log"], watched()))
    first = diagnosis.findings[0]
    assert first.cause == case["cause"]
    assert case["stage"] in (None, diagnosis.stage)
    assert first.evidence
    assert len(first.fixes) <= 3


def test_thirty_causes_each_with_a_rule():
    causes = {rule.cause for rule in rules()}
    assert len(causes) == 30
    assert UNKNOWN not in causes
    assert all(rule.explains <= causes for rule in rules())
