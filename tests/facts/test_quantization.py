"""The dialects of quantization, each as its own tool writes it, told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fitserve.facts.model import QuantFormat, Quantization
from fitserve.facts.quantization import read_quantization

CONFIGS = Path(__file__).parent.parent / "data" / "configs"


def read(raw: dict[str, Any] | None, side: dict[str, Any] | None = None) -> Quantization:
    return read_quantization({"quantization_config": raw} if raw else {}, side)


def group(**weights: object) -> dict[str, Any]:
    return {"targets": ["Linear"], "weights": {"type": "int", "symmetric": True, **weights}}


NVFP4_SIDE = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16}}
ROUND = {"bits": 4, "group_size": 128, "sym": True, "packing_format": "auto_round:auto_gptq"}
CT = {"quant_method": "compressed-tensors", "format": "pack-quantized"}


@pytest.mark.parametrize(
    ("raw", "dialect", "bits", "size", "symmetric"),
    [
        (None, QuantFormat.NONE, None, None, None),
        ({**CT, "config_groups": {"g": group(num_bits=4, group_size=32)}}, QuantFormat.COMPRESSED_TENSORS, 4, 32, True),
        ({**CT, "config_groups": {"g": group(num_bits=8)}}, QuantFormat.COMPRESSED_TENSORS, 8, None, True),
        (
            {**CT, "config_groups": {"g": group(num_bits=4, group_size=128, symmetric=False)}},
            QuantFormat.COMPRESSED_TENSORS, 4, 128, False,
        ),
        (
            {"config_groups": {"g": group(num_bits=4, type="float", group_size=16, strategy="tensor_group")},
             "format": "nvfp4-pack-quantized"},
            QuantFormat.COMPRESSED_TENSORS, 4, 16, True,
        ),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, QuantFormat.AWQ, 4, 128, False),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": False}, QuantFormat.AWQ, 4, 64, True),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, QuantFormat.GPTQ, 4, 128, True),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1, "sym": False}, QuantFormat.GPTQ, 8, None, False),
        ({"quant_method": "auto-round", **ROUND}, QuantFormat.AUTOROUND, 4, 128, True),
        ({"quant_method": "intel/auto-round", **ROUND, "bits": 2}, QuantFormat.AUTOROUND, 2, 128, True),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, QuantFormat.FP8, 8, 128, True),
        ({"quant_method": "fbgemm_fp8"}, QuantFormat.FP8, 8, None, True),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, QuantFormat.FP8, 8, None, True),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, QuantFormat.NVFP4, 4, 16, True),
        ({"quant_method": "modelopt_fp4"}, QuantFormat.NVFP4, 4, 16, True),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, QuantFormat.BITSANDBYTES, 4, None, None),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, QuantFormat.BITSANDBYTES, 8, None, None),
        ({"quant_method": "gguf"}, QuantFormat.GGUF, None, None, None),
        ({"quant_method": "mxfp4"}, QuantFormat.OTHER, None, None, None),
        ({"quant_method": "tomorrow"}, QuantFormat.OTHER, None, None, None),
    ],
)  # fmt: skip
def test_dialects(raw: Any, dialect: QuantFormat, bits: int | None, size: int | None, symmetric: bool | None) -> None:
    found = read(raw)
    assert (found.format, found.bits, found.group_size, found.symmetric) == (dialect, bits, size, symmetric)


def test_mixed_groups_have_no_one_answer() -> None:
    groups = {"a": group(num_bits=4, group_size=32), "b": group(num_bits=8, group_size=128)}
    found = read({**CT, "config_groups": groups})
    assert (found.bits, found.group_size, found.symmetric) == (None, None, True)
    assert [scheme.bits for scheme in found.groups] == [4, 8]


@pytest.mark.parametrize(
    ("side", "dialect", "bits"),
    [
        ({"w_bit": 4, "q_group_size": 128, "zero_point": True, "version": "GEMM"}, QuantFormat.AWQ, 4),
        ({"bits": 4, "group_size": 128, "desc_act": True, "sym": True}, QuantFormat.GPTQ, 4),
        (
            {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16}},
            QuantFormat.NVFP4,
            4,
        ),
    ],
)
def test_side_files_of_older_tools(side: dict[str, Any], dialect: QuantFormat, bits: int) -> None:
    found = read(None, side)
    assert (found.format, found.bits) == (dialect, bits)


def test_act_order_is_kept() -> None:
    assert read({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True}).groups[0].act_order == "group"
    ordered = group(num_bits=4, group_size=128, actorder="static")
    assert read({**CT, "config_groups": {"g": ordered}}).groups[0].act_order == "static"


def test_inside_the_text_config() -> None:
    config = {"text_config": {"quantization_config": {"quant_method": "awq", "bits": 4}}}
    assert read_quantization(config).format is QuantFormat.AWQ


def test_gptq_exclusions_are_its_dynamic_rules() -> None:
    raw = json.loads((CONFIGS / "qwen3.5-35b-a3b-gptq-int4.quantization.json").read_text(encoding="utf-8"))
    assert read(raw).ignore == ("-:.*attn.*", "-:.*shared_expert.*", "-:.*mtp.*", "-:.*visual.*")
