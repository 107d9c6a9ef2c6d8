"""A model folder small enough to write for each test, and whole enough to plan: one layer of Qwen3, BF16."""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path

_HIDDEN, _HEADS, _DIM, _WIDTH, _VOCAB = 64, 2, 32, 128, 128
_CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "hidden_size": _HIDDEN,
    "intermediate_size": _WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": _HEADS,
    "head_dim": _DIM,
    "vocab_size": _VOCAB,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
_LAYER = {
    "self_attn.q_proj": (_HEADS * _DIM, _HIDDEN),
    "self_attn.k_proj": (_HEADS * _DIM, _HIDDEN),
    "self_attn.v_proj": (_HEADS * _DIM, _HIDDEN),
    "self_attn.o_proj": (_HIDDEN, _HEADS * _DIM),
    "self_attn.q_norm": (_DIM,),
    "self_attn.k_norm": (_DIM,),
    "mlp.gate_proj": (_WIDTH, _HIDDEN),
    "mlp.up_proj": (_WIDTH, _HIDDEN),
    "mlp.down_proj": (_HIDDEN, _WIDTH),
    "input_layernorm": (_HIDDEN,),
    "post_attention_layernorm": (_HIDDEN,),
}


def write_model(folder: Path) -> Path:
    """Write it; returns the folder."""
    folder.mkdir(parents=True)
    shapes = {f"model.layers.0.{name}.weight": shape for name, shape in _LAYER.items()}
    shapes |= {"model.embed_tokens.weight": (_VOCAB, _HIDDEN), "model.norm.weight": (_HIDDEN,)}
    header: dict[str, object] = {}
    end = 0
    for name, shape in shapes.items():
        size = 2 * prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    (folder / "config.json").write_text(json.dumps(_CONFIG))
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(end))
    return folder
