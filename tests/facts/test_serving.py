"""Folders that vLLM can't serve as they are: a sentence with the reason, and none for those that it can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checkpoints import TINY, Entries, write_folder

from fitserve.facts.read import survey_model
from fitserve.facts.serving import architectures

PLAIN: Entries = {"model.layers.0.mlp.down_proj.weight": ("BF16", (8, 8)), "lm_head.weight": ("BF16", (8, 8))}
AUTO_AWQ: Entries = {"model.layers.0.mlp.down_proj.qweight": ("I32", (8, 1)), "lm_head.weight": ("BF16", (8, 8))}
PACKED: Entries = {"model.layers.0.mlp.down_proj.weight_packed": ("I32", (8, 1)), "lm_head.weight": ("BF16", (8, 8))}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 8, "zero_point": True}
FP8 = {"quant_method": "fp8"}
PACK_QUANTIZED = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {}}


def reason(folder: Path, entries: Entries | None, **config: Any) -> str:
    write_folder(folder, {**TINY, **config}, {"model.safetensors": entries} if entries else {})
    return survey_model(folder).serving_problem


@pytest.mark.parametrize(
    ("entries", "quantization"),
    [(PLAIN, None), (AUTO_AWQ, AWQ), (PACKED, PACK_QUANTIZED), (PLAIN, FP8)],
)
def test_what_fits_together_is_served(tmp_path: Path, entries: Entries, quantization: Any) -> None:
    assert reason(tmp_path, entries, quantization_config=quantization) == ""


@pytest.mark.parametrize(
    ("entries", "quantization", "word"),
    [
        (AUTO_AWQ, PACK_QUANTIZED, "compressed-tensors"),
        (PACKED, AWQ, "awq"),
        (AUTO_AWQ, None, "no quantization_config"),
        (PLAIN, {"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
        (PLAIN, {"quant_method": "tomorrow"}, "tomorrow"),
        (None, None, "no weights"),
    ],
)
def test_what_does_not_is_told(tmp_path: Path, entries: Entries | None, quantization: Any, word: str) -> None:
    assert word in reason(tmp_path, entries, quantization_config=quantization)


def test_architectures(tmp_path: Path) -> None:
    assert "BrandNew" in reason(tmp_path / "a", PLAIN, architectures=["BrandNew"])
    assert "no architecture" in reason(tmp_path / "b", PLAIN, architectures=[])
    assert "Qwen3_5MoeForConditionalGeneration" in architectures() and len(architectures()) > 300


@pytest.mark.parametrize("with_config", [False, True])
def test_gguf(tmp_path: Path, with_config: bool) -> None:
    (tmp_path / "model-Q4_K_M.gguf").write_bytes(b"GGUF")
    if with_config:
        (tmp_path / "config.json").write_text(json.dumps(TINY))
    assert "llama.cpp" in survey_model(tmp_path).serving_problem


def test_pickled_weights(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    assert "pytorch_model.bin" in reason(tmp_path, None)
