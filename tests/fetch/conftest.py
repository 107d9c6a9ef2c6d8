"""A published model on a look-alike of the hubs, and caches that nobody else uses."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "facts"))

from checkpoints import TINY, entries_of, header_bytes
from hub_twin import Blob, Twin, running

from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read_config import describe

COMMIT = "c0ffee" + "0" * 34
DATA = random.Random(7).randbytes(1024**2)


def published() -> dict[str, Blob]:
    """A small model in two shards with their data, and what no engine reads."""
    model = with_inferred_tensors(describe(TINY, (), read_quantization(TINY), name="x", source="x"))
    entries = list(entries_of(model.tensors).items())
    files = {"config.json": Blob(json.dumps(TINY).encode()), "tokenizer.json": Blob(b'{"model": {}}')}
    weight_map = {}
    for number, part in enumerate((entries[:40], entries[40:]), 1):
        shard = f"model-{number:05}-of-00002.safetensors"
        size = sum(tensor.size_bytes for tensor in model.tensors if tensor.name in dict(part))
        files[shard] = Blob(header_bytes(dict(part)) + (DATA * (1 + size // len(DATA)))[:size])
        weight_map |= dict.fromkeys(dict(part), shard)
    files["model.safetensors.index.json"] = Blob(json.dumps({"weight_map": weight_map}).encode())
    files |= {name: Blob(b"x" * 100) for name in ("README.md", "pytorch_model.bin", "model-Q4_K_M.gguf", "LICENSE.txt")}
    files |= {name: Blob(b"x" * 100) for name in ("consolidated.safetensors", "pytorch_model.bin.index.json")}
    return files


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, no token and no cache of this machine."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "MODELSCOPE", "TRANSFORMERS_"))]:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "HF_HOME", "MODELSCOPE_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("FITSERVE_LANG", "en")


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Twin]:
    """Both hubs at one address."""
    with running(Twin(published(), sums=True, commit=COMMIT)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.url)
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", one.url)
        yield one
