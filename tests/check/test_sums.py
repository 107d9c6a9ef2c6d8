"""Files against the hub's sums: from its cache, from a download's own notes, from the hub itself, or from nobody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from facts.hub_twin import Blob, Twin, running
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.hub_site import HubFile
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight import sums
from fitserve.preflight.promised import promised
from fitserve.preflight.subject import Subject
from run.small_model import write_model

REF = HubRef(Hub.HUGGING_FACE, "org/name")


def look(subject: Subject) -> list[Check]:
    return list(sums.check(subject))


def as_cache(folder: Path) -> None:
    """Lay a folder out as the hub's cache: links to blobs that are named by their sums."""
    blobs = folder.parent / "blobs"
    blobs.mkdir()
    for path in list(folder.iterdir()):
        blob = blobs / hashlib.sha256(path.read_bytes()).hexdigest()
        path.rename(blob)
        path.symlink_to(blob)


def spoil(path: Path) -> None:
    """Change a byte in the middle; the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_the_hubs_cache_knows_its_sums(tmp_path: Path, subject: Callable[..., Subject]) -> None:
    folder = write_model(tmp_path / "repo" / "snapshot")
    as_cache(folder)
    (line,) = look(subject(folder))
    assert line.state is CheckState.OK
    assert line.evidence == "sums from the hub's cache"
    spoil((folder / "model.safetensors").resolve())
    (line,) = look(subject(folder, ref=REF))
    assert line.state is CheckState.FAIL
    assert line.detail.startswith("model.safetensors is not the file")
    assert "promised" in line.evidence
    assert line.hint == "fitserve up org/name"


def test_a_download_into_a_folder_keeps_them_beside(tmp_path: Path, subject: Callable[..., Subject]) -> None:
    folder = write_model(tmp_path / "m")
    notes = folder / ".cache/huggingface/download"
    notes.mkdir(parents=True)
    content = (folder / "config.json").read_bytes()
    git_sum = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    (notes / "config.json.metadata").write_text(f"{'c' * 40}\n{git_sum}\n1700000000.0\n")
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (notes / "model.safetensors.metadata").write_text(f"{'c' * 40}\n{weights}\n1700000000.0\n")
    (line,) = look(subject(folder))
    assert (line.state, line.evidence) == (CheckState.OK, "sums kept at the download")
    (folder / "config.json").write_bytes(content.replace(b"2048", b"4096"))
    (line,) = look(subject(folder))
    assert line.state is CheckState.FAIL
    assert "config.json" in line.detail


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Twin]:
    folder = write_model(tmp_path / "m")
    files = {path.name: Blob(path.read_bytes()) for path in folder.iterdir()}
    with running(Twin(files, sums=True)) as twin:
        monkeypatch.setenv("HF_ENDPOINT", twin.url)
        yield twin


def test_the_hub_is_asked_where_nobody_here_knows(hub: Twin, tmp_path: Path, subject: Callable[..., Subject]) -> None:
    folder = tmp_path / "m"
    (line,) = look(subject(folder, ref=REF))
    assert (line.state, line.evidence) == (CheckState.OK, "127.0.0.1")
    spoil(folder / "model.safetensors")
    (line,) = look(subject(folder, ref=REF))
    assert line.state is CheckState.FAIL
    hub.list_mood = "html"
    (line,) = look(subject(folder, ref=REF))
    assert line.state is CheckState.UNKNOWN
    assert "could not be asked" in line.detail


def test_without_sums_it_is_unknown(tmp_path: Path, subject: Callable[..., Subject]) -> None:
    folder = write_model(tmp_path / "m")
    assert look(subject(folder))[0].state is CheckState.UNKNOWN
    assert look(subject(folder, ref=REF, quick=True))[0].detail == "Left out (--quick)."
    assert promised(folder, REF, offline=True).files == ()


def test_a_right_file_is_hashed_once(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"x" * 100)
    file = HubFile("w", 100, hashlib.sha256(b"x" * 100).hexdigest())
    memory = sums.Memory(tmp_path / "hashed.json")
    assert sums.difference(path, file, memory) == ""
    memory.write()
    again = sums.Memory(tmp_path / "hashed.json")
    assert again.holds(path, file)
    assert not again.holds(path, HubFile("w", 100, "0" * 64))
    spoil(path)
    assert not again.holds(path, file)
    assert sums.difference(path, HubFile("w", 99, file.digest), again) == "100 bytes, 99 promised"
    (tmp_path / "hashed.json").write_text(json.dumps([1]))
    assert not sums.Memory(tmp_path / "hashed.json").holds(path, file)
