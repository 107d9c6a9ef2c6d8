"""A home of its own, no network, and a subject to look at."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.facts.host import HostFacts
from fitserve.facts.read import survey_model
from fitserve.preflight.subject import Subject
from fitserve.units import GIB

HOST = HostFacts("Linux", "3.11", None, frozenset(), 4, 32 * GIB, 30 * GIB, 8 * GIB, 100 * GIB, "/usr/bin/c++")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("HF_", "MODELSCOPE", "FITSERVE_", "STUB_"))]:
        monkeypatch.delenv(name)
    for name in ("STATE", "CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("FITSERVE_LANG", "en")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def subject() -> Callable[..., Subject]:
    """A subject about a folder: `subject(folder, cards=…)`."""

    def make(folder: Path | None = None, **fields: object) -> Subject:
        base = Subject(HOST, (), name="one", model=str(folder or ""))
        facts = survey_model(folder) if folder else None
        return replace(base, facts=facts, **fields)  # type: ignore[arg-type]  # fields of a dataclass by name

    return make
