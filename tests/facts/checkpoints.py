"""Model folders for tests: real headers with no data behind them (sparse files)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from fitserve.facts.model import Tensor

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8, "I8": 1, "U8": 1, "F8_E4M3": 1}
Entries = Mapping[str, tuple[str, tuple[int, ...]]]

TINY = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {
        "dtype": "bfloat16",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
        "vocab_size": 320,
        "max_position_embeddings": 4096,
        "partial_rotary_factor": 0.25,
        "tie_word_embeddings": False,
        "mtp_num_hidden_layers": 1,
    },
    "vision_config": {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "num_position_embeddings": 64,
        "out_hidden_size": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    },
}


def header_bytes(entries: Entries, metadata: object = None) -> bytes:
    """Length and JSON of a header in which tensors follow each other."""
    table: dict[str, object] = {"__metadata__": metadata or {"format": "pt"}}
    place = 0
    for name, (dtype, shape) in entries.items():
        size = math.prod(shape) * BYTES[dtype]
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    content = json.dumps(table).encode()
    return len(content).to_bytes(8, "little") + content


def data_bytes(entries: Entries) -> int:
    """Bytes of data behind such a header."""
    return sum(math.prod(shape) * BYTES[dtype] for dtype, shape in entries.values())


def write_shard(path: Path, entries: Entries) -> None:
    """A safetensors file whose data is a hole."""
    head = header_bytes(entries)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + data_bytes(entries))


def entries_of(tensors: Iterable[Tensor]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Tensors as header entries."""
    return {tensor.name: (tensor.dtype, tensor.shape) for tensor in tensors}


def write_folder(folder: Path, config: object, shards: Mapping[str, Entries], *, index: bool = True) -> Path:
    """A model folder: config, shards, and the index where there are several."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, entries in shards.items():
        write_shard(folder / name, entries)
    if index and len(shards) > 1:
        weight_map = {tensor: name for name, entries in shards.items() for tensor in entries}
        document = {"metadata": {"total_size": sum(map(data_bytes, shards.values()))}, "weight_map": weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(document), encoding="utf-8")
    return folder
