"""A small model as a hub publishes it, with its data."""

from __future__ import annotations

import json
import random

from checkpoints import TINY, entries_of, header_bytes
from hub_twin import Blob

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
