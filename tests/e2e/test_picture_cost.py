"""What a picture is said to cost before it is sent is what the real engine counts: plan, deployment and chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.e2e.conftest import Fitserve

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def test_said_and_counted_agree(fitserve: Fitserve, demo: dict[str, Any], tmp_path: Path) -> None:
    asked = ("chat", demo["name"], "What is it?", "--max-tokens", "1")
    text_only = fitserve.json(*asked)["prompt_tokens"]
    for size in [(50, 40), (333, 777), (1600, 1200)]:
        file = tmp_path / "picture.png"
        Image.new("RGB", size, (200, 30, 30)).save(file)
        answer = fitserve.json(*asked, "--image", str(file))
        assert answer["prompt_tokens"] - text_only == answer["pictures"][0]["tokens"]
