"""The shell side of scripts/demo: a stop is told as one, progress is told, pip's words are shown where it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.process
SOURCE = Path(__file__).parents[2] / "scripts" / "environment.sh"


def start(folder: Path, pip: str, language: str = "en") -> subprocess.Popen[str]:
    """`pip_install 66 x` with a Python of ours in .venv, in a process group of its own."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{pip}\n")
    python.chmod(0o755)
    script = f'set -euo pipefail; . "{SOURCE}"; pip_install 66 x || fail "pip failed" "again" 7; echo done'
    env = {"PATH": os.environ["PATH"], "FITSERVE_LANG": language}
    return subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def until_pip_runs(folder: Path) -> None:
    """pip writes this file first."""
    for _ in range(200):
        if (folder / "runs").exists():
            return
        time.sleep(0.05)
    raise AssertionError("pip was not started")


@pytest.mark.parametrize(("language", "said"), [("en", "Stopped by you"), ("zh", "已按你的要求停下")])
def test_ctrl_c_is_a_stop_and_not_a_fault(tmp_path: Path, language: str, said: str) -> None:
    process = start(tmp_path, "touch runs; exec sleep 60", language)
    until_pip_runs(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said in err
    assert "Error" not in err


def test_pip_that_fails_is_quoted(tmp_path: Path) -> None:
    process = start(tmp_path, "echo 'ERROR: no matching distribution' >&2; exit 1")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 7
    assert err.index("no matching distribution") < err.index("Error: pip failed")


def test_a_quiet_minute_is_not_quiet(tmp_path: Path) -> None:
    process = start(tmp_path, "echo Collecting a; echo Collecting b; sleep 12")
    out, err = process.communicate(timeout=40)
    assert (process.returncode, out) == (0, "done\n")
    assert "2 of 66 packages fetched" in err
