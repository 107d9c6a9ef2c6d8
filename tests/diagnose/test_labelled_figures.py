"""Weights, KV cache, tokens, asked and free memory of forty logs, as they were read by eye."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitserve.observe.log.read import read_lines

DATA = Path(__file__).parent.parent / "data" / "doctor"
NAMES = ("weights_gib", "available_kv_gib", "kv_tokens", "asked_gib", "free_gib")
LABELS = [json.loads(line) for line in (DATA / "labelled_figures.jsonl").read_text(encoding="utf-8").splitlines()]
RECORDS = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
CASES = {record["name"]: record["log"] for record in RECORDS}


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.get("case") or label["healthy"])
def test_figures(label):
    lines = CASES[label["case"]] if "case" in label else (DATA / "healthy" / label["healthy"]).read_text().splitlines()
    figures = read_lines(lines).start.figures
    assert {name: figures[name] for name in NAMES if name in figures} == label["figures"]
