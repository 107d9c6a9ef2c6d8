"""A download that is ended by force goes on where it stood."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_twin import Blob, Twin

from fitserve.facts.hub_cache import find_snapshot
from fitserve.facts.hub_ref import HubRef, parse_ref

pytestmark = pytest.mark.process

SHARD = "model-00001-of-00002.safetensors"
PROGRAM = """
import sys
from fitserve.cli.failure import told
from fitserve.cli.up_fetch import FetchLines
from fitserve.facts.hub_ref import parse_ref
from fitserve.fetch.download import download
import click
@click.command()
@click.argument("model")
def command(model):
    ref = parse_ref(model)
    click.echo(download(ref, FetchLines(str(ref))))
sys.exit(told(command))
"""


def begin(model: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", PROGRAM, model]
    return subprocess.Popen(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def part_of(shard: str, tmp_path: Path, at_least: int) -> None:
    """Wait until so much of the shard is on the disk."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        parts = [p for p in tmp_path.rglob("*.fitserve.incomplete") if p.stat().st_size >= at_least]
        if parts:
            return
        time.sleep(0.02)
    raise AssertionError(f"{shard} did not come")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
@pytest.mark.parametrize("model", ["hf:org/name", "modelscope:org/name"])
def test_ended_in_the_middle(twin: Twin, tmp_path: Path, model: str, number: signal.Signals) -> None:
    twin.files[SHARD] = Blob(twin.files[SHARD].head + bytes(8 * 1024**2))
    ref = parse_ref(model)
    assert isinstance(ref, HubRef)
    twin.always = "slow"
    first = begin(model)
    part_of(SHARD, tmp_path, 1024**2)
    first.send_signal(number)
    out, err = first.communicate(timeout=30)
    assert not out and find_snapshot(ref) is None
    if number is signal.SIGINT:
        assert first.returncode == 130 and f"fitserve up {ref}" in err and "Traceback" not in err
    twin.always = ""
    before = twin.sent_bytes
    second = begin(model)
    out, err = second.communicate(timeout=30)
    assert second.returncode == 0, err
    assert (Path(out.strip()) / SHARD).read_bytes() == twin.files[SHARD].head
    assert "are here already" in err and "Every file has the checksum" in err
    assert twin.sent_bytes - before < 7.6 * 1024**2
