"""Large folders are read once, and again when anything in them changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from checkpoints import TINY, write_folder, write_shard

from fitserve.facts import folder as folder_module
from fitserve.facts.folder import read_weights

MANY = {f"model.layers.0.mlp.experts.{number}.up_proj.weight": ("BF16", (2, 2)) for number in range(2500)}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headers that were read."""
    seen: list[str] = []
    real = folder_module.read_header

    def counted(path: Path) -> object:
        seen.append(path.name)
        return real(path)

    monkeypatch.setattr(folder_module, "read_header", counted)
    return seen


def test_the_second_look_reads_no_header(tmp_path: Path, reads: list[str]) -> None:
    folder = write_folder(tmp_path, TINY, {"model.safetensors": MANY})
    first = read_weights(folder)
    assert read_weights(folder) == first and len(first.tensors) == 2500 and reads == ["model.safetensors"]


def test_a_change_is_seen(tmp_path: Path, reads: list[str]) -> None:
    folder = write_folder(tmp_path, TINY, {"model.safetensors": MANY})
    read_weights(folder)
    write_shard(folder / "model.safetensors", dict(list(MANY.items())[:2400]))
    assert len(read_weights(folder).tensors) == 2400
    os.utime(folder / "model.safetensors", (1, 1))
    read_weights(folder)
    write_shard(folder / "extra.safetensors", {"x": ("BF16", (1,))})
    assert len(read_weights(folder).tensors) == 2401 and len(reads) == 5


def test_damage_is_never_kept(tmp_path: Path, reads: list[str]) -> None:
    folder = write_folder(tmp_path, TINY, {"a.safetensors": MANY, "b.safetensors": {"x": ("BF16", (4,))}})
    with (folder / "b.safetensors").open("r+b") as file:
        file.truncate(20)
    assert read_weights(folder).problems and read_weights(folder).problems and len(reads) == 4


def test_a_spoilt_or_forbidden_cache_is_no_failure(tmp_path: Path, _own_cache: Path) -> None:
    folder = write_folder(tmp_path / "model", TINY, {"model.safetensors": MANY})
    read_weights(folder)
    for kept in (_own_cache / "fitserve" / "tensors").iterdir():
        kept.write_bytes(b"spoilt")
    assert len(read_weights(folder).tensors) == 2500
    os.environ["XDG_CACHE_HOME"] = str(tmp_path / "model" / "config.json")  # not a folder; monkeypatch puts it back
    assert len(read_weights(folder).tensors) == 2500
