"""What the package declares to the world is what it uses itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

from fitserve.diagnose.rules import BUILT_IN as RULES
from fitserve.engines.registry import BUILT_IN as ENGINES

DECLARED = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_our_rules_are_declared_as_anybodys() -> None:
    expected = {name: f"fitserve.diagnose.rules.{name}:RULE" for name in RULES}
    assert DECLARED["entry-points"]["fitserve.rules"] == expected


def test_our_engines_are_declared_as_anybodys() -> None:
    assert DECLARED["entry-points"]["fitserve.engines"] == {point.name: point.value for point in ENGINES}
