"""Layouts inferred from configs, held against published headers and index totals."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.facts.known_models import known_names, near_known, read_known
from fitserve.facts.layout import infer_tensors
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization, Tensor
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read import read_model
from fitserve.facts.read_config import describe
from fitserve.facts.weights import ModuleGroup, group_weights, parameters

DATA = Path(__file__).parent.parent / "data"
_NUMBER = re.compile(r"\.\d+(?=\.)")


def kinds(tensors: tuple[Tensor, ...]) -> Counter[tuple[str, str, tuple[int, ...]]]:
    return Counter((_NUMBER.sub(".#", tensor.name), tensor.dtype, tensor.shape) for tensor in tensors)


def published(name: str) -> tuple[Counter[tuple[str, str, tuple[int, ...]]], int]:
    document = json.loads((DATA / "headers" / f"{name}.json").read_text(encoding="utf-8"))
    counts = {(kind, dtype, tuple(shape)): count for kind, dtype, shape, count in document["kinds"]}
    return Counter(counts), document["bytes"]


def test_the_lead_model_is_laid_out_as_published() -> None:
    counts, size = published("qwen3.5-35b-a3b-ct")
    facts = read_model("qwen3.5-35b-a3b-awq-4bit")
    assert kinds(facts.tensors) == counts and facts.checkpoint_bytes == size


@pytest.mark.parametrize("name", ["gptq", "bf16"])
def test_builds_with_fused_experts_have_the_same_bytes(name: str) -> None:
    counts, size = published(f"qwen3.5-35b-a3b-{name}")
    facts = read_model("qwen3.5-35b-a3b" + ("-gptq-int4" if name == "gptq" else ""))
    assert facts.checkpoint_bytes == size
    # experts that were not quantized are kept as two tensors a layer, where the recorded layout has one for each expert
    found = kinds(facts.tensors)
    assert _without_experts(found) == _without_experts(counts)


def _without_experts(found: Counter[tuple[str, str, tuple[int, ...]]]) -> set[tuple[str, str, tuple[int, ...]]]:
    return {kind for kind in found if "experts." not in kind[0]}


@pytest.mark.parametrize(
    ("name", "tensors", "size"),
    [  # totals of the published safetensors indexes
        ("qwen3.6-27b", 1199, 55_562_855_904),
        ("qwen3.8-27b", 1199, 55_562_855_904),
        ("qwen3.6-35b-a3b", 1045, 71_903_645_408),
        ("qwen3-vl-8b-instruct", 750, 17_534_247_392),
        ("qwen2.5-vl-7b", 729, 16_584_333_312),
    ],
)
def test_published_totals(name: str, tensors: int, size: int) -> None:
    facts = read_model(name)
    assert (len(facts.tensors), facts.checkpoint_bytes) == (tensors, size)


@pytest.mark.parametrize(
    ("name", "text_only", "gib", "tolerance"),
    [  # what vLLM printed after loading; up to 0.125 GiB of it are the positions' cosines
        ("qwen3.5-9b", True, 16.8, 0.13),
        ("qwen3.8-27b-fp8", False, 2 * 14.28, 0.26),
        ("qwen3.5-35b-a3b-gptq-int4", True, 20.27, 0.13),
    ],
)
def test_loaded_weights_as_vllm_printed_them(name: str, text_only: bool, gib: float, tolerance: float) -> None:
    dropped = {ModuleGroup.MTP, ModuleGroup.VISION} if text_only else {ModuleGroup.MTP}
    loaded = sum(group.size_bytes for group in group_weights(read_model(name)) if group.group not in dropped)
    assert -0.06 <= gib - loaded / 2**30 <= tolerance


@pytest.mark.parametrize("name", known_names())
def test_known_models_are_whole(name: str) -> None:
    facts = read_known(name)
    assert facts.layout_inferred and facts.tensors and facts.attention and facts.vision
    assert facts.serving_problem == "" and facts.problems == () and facts.max_positions
    assert not facts.vision.limits_assumed and facts.vision.max_pixels and len(facts.notes) == 2


def test_patterns_become_the_511_names() -> None:
    wanted = json.loads((DATA / "configs" / "qwen3.5-35b-a3b-awq-4bit.ignore.json").read_text(encoding="utf-8"))
    assert sorted(read_known("qwen3.5-35b-a3b-awq-4bit").quantization.ignore) == wanted


@pytest.mark.parametrize("name", ["QWEN3.5-35B-A3B-AWQ-4bit", "qwen3_vl_8b", "Qwen3.5-9B-quantized.w4a16"])
def test_names_are_found_whatever_the_spelling(name: str) -> None:
    assert read_model(name).source == "known"


def test_a_mistyped_name_has_neighbours() -> None:
    assert near_known("qwen3.5-27")[0] == "qwen3.5-27b" and near_known("llama") == []


def as_stored(raw: dict[str, object]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The down projection of layer 0 of a small dense model under a dialect: 64 outputs from 128 inputs."""
    base = read_known("qwen3-vl-8b-instruct")
    quantization = read_quantization({"quantization_config": raw}) if raw else Quantization(base.quantization.format)
    facts: ModelFacts = replace(base, hidden=64, intermediate=128, layers=base.layers[:1], quantization=quantization)
    prefix = "model.language_model.layers.0.mlp.down_proj."
    found = [tensor for tensor in infer_tensors(facts) if tensor.name.startswith(prefix)]
    return {tensor.name.removeprefix(prefix): (tensor.dtype, tensor.shape) for tensor in found}


def scheme(**weights: object) -> dict[str, object]:
    return {"g": {"targets": ["Linear"], "weights": weights}}


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({}, {"weight": ("BF16", (64, 128))}),
        (
            {"quant_method": "compressed-tensors", "format": "pack-quantized",
             "config_groups": scheme(num_bits=4, group_size=32, symmetric=False)},
            {"weight_packed": ("I32", (64, 16)), "weight_scale": ("BF16", (64, 4)), "weight_shape": ("I64", (2,)),
             "weight_zero_point": ("I32", (8, 4))},
        ),
        (
            {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": scheme(num_bits=8)},
            {"weight": ("I8", (64, 128)), "weight_scale": ("BF16", (64, 1))},
        ),
        (
            {"quant_method": "compressed-tensors", "format": "float-quantized",
             "config_groups": scheme(num_bits=8, type="float", strategy="channel")},
            {"weight": ("F8_E4M3", (64, 128)), "weight_scale": ("BF16", (64, 1))},
        ),
        (
            {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
             "config_groups": scheme(num_bits=4, type="float", group_size=16)},
            {"weight_packed": ("U8", (64, 64)), "weight_scale": ("F8_E4M3", (64, 8)),
             "weight_global_scale": ("F32", (1,))},
        ),
        (
            {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True},
            {"qweight": ("I32", (128, 8)), "qzeros": ("I32", (4, 8)), "scales": ("F16", (4, 64))},
        ),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True},
            {"qweight": ("I32", (16, 64)), "qzeros": ("I32", (4, 8)), "scales": ("F16", (4, 64)),
             "g_idx": ("I32", (128,))},
        ),
        (
            {"quant_method": "fp8", "weight_block_size": [128, 128]},
            {"weight": ("F8_E4M3", (64, 128)), "weight_scale_inv": ("BF16", (1, 1))},
        ),
        (
            {"quant_method": "modelopt", "quant_algo": "NVFP4"},
            {"weight": ("U8", (64, 64)), "weight_scale": ("F8_E4M3", (64, 8)), "weight_scale_2": ("F32", ()),
             "input_scale": ("F32", ())},
        ),
    ],
)  # fmt: skip
def test_each_dialect_stores_a_matrix_its_own_way(raw: dict[str, object], wanted: dict[str, object]) -> None:
    assert as_stored(raw) == wanted


def test_what_can_not_be_laid_out_is_left_open() -> None:
    assert (
        as_stored({"quant_method": "compressed-tensors", "format": "marlin-24", "config_groups": scheme(num_bits=4)})
        == {}
    )
    assert infer_tensors(replace(read_known("qwen3.5-4b"), architecture="BrandNewForCausalLM")) == ()


def test_a_mixed_build_has_both_its_schemes() -> None:
    facts = read_known("qwen3.6-35b-a3b-nvfp4")
    assert [len(group.targets) for group in facts.quantization.groups] == [130, 161]
    types = {
        tensor.name.rpartition("layers.0.")[2]: tensor.dtype for tensor in facts.tensors if "layers.0." in tensor.name
    }
    assert types["mlp.experts.0.up_proj.weight"] == "U8" and types["linear_attn.out_proj.weight"] == "F8_E4M3"
    assert types["mlp.gate.weight"] == "BF16"


FAMILIES = json.loads((DATA / "headers" / "families.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_families_are_laid_out_as_transformers_builds_them(family: str) -> None:
    recorded = FAMILIES[family]
    facts = describe(recorded["config"], (), Quantization(QuantFormat.NONE), name="x", source="x")
    tensors = infer_tensors(facts)
    assert sum(parameters(tensor, None) for tensor in tensors) == recorded["parameters"]
    if recorded["names"]:
        assert sorted(tensor.name for tensor in tensors) == recorded["names"]
