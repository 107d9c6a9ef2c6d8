"""A public point as model facts: shipped ones, or a geometry."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from fitserve.facts.known_models import find_known, read_known
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization
from fitserve.facts.read_config import describe

GEOMETRIES = Path(__file__).parent / "geometries.toml"


@cache
def subject(name: str) -> ModelFacts | None:
    """Facts by a known model's name or a geometry's; None where neither is there (no prediction for such a point)."""
    if find_known(name):
        return read_known(name)
    table = tomllib.loads(GEOMETRIES.read_text(encoding="utf-8")).get(name)
    if table is None:
        return None
    facts = describe({"dtype": "bfloat16"} | table, (), Quantization(QuantFormat.NONE), name=name, source="geometry")
    return replace(facts, dtype="bfloat16")
