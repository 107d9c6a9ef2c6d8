"""A strange interpreter that hangs, floods, or leaves a child behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fitserve.engines.child_output import ChildOutput, child_output


def run(code: str, seconds: float = 30.0, patience_s: float = 30.0) -> tuple[ChildOutput, list[str]]:
    told: list[str] = []
    argv = [sys.executable, "-c", code]
    return child_output(argv, os.environ, seconds, lambda: told.append("waiting"), patience_s), told


def test_both_streams_and_the_code() -> None:
    output, told = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (output, told) == (ChildOutput("out\n", "err\n", 3), [])


def test_of_a_flood_the_end_is_kept() -> None:
    output, _ = run("print('x' * 50_000_000); print('FITSERVE end')")
    assert len(output.stdout) <= 256 * 1024
    assert output.stdout.endswith("FITSERVE end\n")


def test_one_that_hangs_is_told_and_ended() -> None:
    told: list[str] = []
    argv = [sys.executable, "-c", "import time; time.sleep(600)"]
    with pytest.raises(subprocess.TimeoutExpired):
        child_output(argv, os.environ, 0.5, lambda: told.append("waiting"), 0.1)
    assert told == ["waiting"]


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    code = "import subprocess, sys; subprocess.Popen(['sleep', '600']); print('done')"
    output, _ = run(code)
    assert output.stdout == "done\n"


def test_one_that_closes_its_streams_is_waited_for() -> None:
    output, _ = run("import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(7)")
    assert output.code == 7
