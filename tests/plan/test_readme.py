"""The READMEs' first picture is what the program prints: every number in it is computed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from plan_models import gpu_engine, host
from rich.console import Console

from fitserve.cli.plan_screen import show_plan
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import read_known
from fitserve.plan.make import make_plan
from fitserve.plan.request import PlanRequest
from fitserve.text import choose_language

ROOT = Path(__file__).parents[2]
ASKED = "fitserve plan qwen3.5-35b-a3b-awq-4bit --gpus 2xRTX3090"


@pytest.mark.parametrize(("name", "language"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_the_plan_in_the_readme_is_what_is_printed(name: str, language: str) -> None:
    choose_language(language)
    cards = parse_gpus("2xRTX3090")
    assert isinstance(cards, tuple)
    page = io.StringIO()
    plan = make_plan(PlanRequest(), read_known("qwen3.5-35b-a3b-awq-4bit"), gpu_engine(), host(), cards)
    show_plan(plan, Console(file=page, width=100, highlight=False, markup=False, emoji=False))
    printed = [line.rstrip() for line in page.getvalue().splitlines()][:-1]  # the command is cut short there
    shown = (ROOT / name).read_text(encoding="utf-8").split(ASKED)[1].split("```")[0].partition("\n")[2]
    assert [line.rstrip() for line in shown.splitlines()][: len(printed)] == printed
