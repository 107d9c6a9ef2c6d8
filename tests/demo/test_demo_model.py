"""The weights that ship: small enough, whole, and of dimensions that the engines' kernels take."""

import json
import re
import struct
from typing import Any

import pytest

from fitserve.demo import model_dir

FOLDER = model_dir()
RANKS = 2
GROUP = 32


def read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    with (FOLDER / "model.safetensors").open("rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        found = json.loads(file.read(size))
    found.pop("__metadata__")
    assert (
        max(entry["data_offsets"][1] for entry in found.values()) + 8 + size
        == (FOLDER / "model.safetensors").stat().st_size
    )
    return found


def shape(header: dict[str, Any], module: str) -> tuple[int, int]:
    """Outputs and inputs of a quantized linear, by its packed weight."""
    outputs, words = header[f"{module}.weight_packed"]["shape"]
    return outputs, words * 8


def quantized(header: dict[str, Any]) -> list[str]:
    return sorted(name.removesuffix(".weight_packed") for name in header if name.endswith(".weight_packed"))


def test_the_folder_is_whole_and_small() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
    } <= names
    assert {"preprocessor_config.json", "generation_config.json", "README.md"} <= names
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 12_000_000


def test_full_attention_and_mlp_are_quantized_and_nothing_else(header: dict[str, Any]) -> None:
    kinds = read("config.json")["text_config"]["layer_types"]
    wanted = []
    for index, kind in enumerate(kinds):
        layer = f"model.language_model.layers.{index}"
        wanted += [f"{layer}.mlp.{part}_proj" for part in ("gate", "up", "down")]
        wanted += [f"{layer}.self_attn.{part}_proj" for part in "qkvo"] if kind == "full_attention" else []
    assert quantized(header) == sorted(wanted)


def test_linears_left_in_16_bit_are_all_named(header: dict[str, Any]) -> None:
    ignored = set(read("config.json")["quantization_config"]["ignore"])
    linear = re.compile(r"(?:attn\.qkv|attn\.proj|linear_fc\d|in_proj_\w+|out_proj)\.weight$|^lm_head\.weight$")
    left = {name.removesuffix(".weight") for name in header if linear.search(name)}
    assert left == ignored - {"re:^mtp.*"}


def test_the_format_is_w4a16_in_groups_of_32(header: dict[str, Any]) -> None:
    group = read("config.json")["quantization_config"]["config_groups"]["group_0"]
    assert group["format"] == "pack-quantized"
    weights = group["weights"]
    assert (weights["num_bits"], weights["group_size"], weights["symmetric"]) == (4, GROUP, True)
    for module in quantized(header):
        outputs, inputs = shape(header, module)
        assert header[f"{module}.weight_scale"]["shape"] == [outputs, inputs // GROUP]
        assert header[f"{module}.weight_scale"]["dtype"] == "BF16"
        assert header[f"{module}.weight_packed"]["dtype"] == "I32"


def test_every_quantized_linear_fits_the_kernels_on_two_ranks(header: dict[str, Any]) -> None:
    for module in quantized(header):
        outputs, inputs = shape(header, module)
        by_rows = module.endswith(("o_proj", "down_proj"))
        assert (inputs // RANKS if by_rows else inputs) % 128 == 0, module
        assert (outputs if by_rows else outputs // RANKS) % 64 == 0, module


def test_heads_divide_and_have_sizes_that_the_cpu_engine_has() -> None:
    text, vision = (read("config.json")[part] for part in ("text_config", "vision_config"))
    assert text["head_dim"] in (32, 64, 80, 96, 112, 128)
    for heads in ("num_attention_heads", "num_key_value_heads", "linear_num_key_heads", "linear_num_value_heads"):
        assert text[heads] % RANKS == 0
    assert vision["num_heads"] % RANKS == 0
    assert sum(text["rope_parameters"]["mrope_section"]) * 2 == text["head_dim"] * text["partial_rotary_factor"]


def test_it_is_the_lead_models_architecture() -> None:
    config = read("config.json")
    assert config["architectures"] == ["Qwen3_5ForConditionalGeneration"]
    kinds = config["text_config"]["layer_types"]
    assert kinds.count("linear_attention") == 3 * kinds.count("full_attention")
    assert config["text_config"]["max_position_embeddings"] >= 32768


def test_the_tokenizers_numbers_are_the_configs() -> None:
    tokens = {entry["content"]: entry["id"] for entry in read("tokenizer.json")["added_tokens"]}
    config = read("config.json")
    assert tokens["<|image_pad|>"] == config["image_token_id"]
    assert tokens["<|vision_start|>"] == config["vision_start_token_id"]
    assert tokens["<|im_end|>"] == config["text_config"]["eos_token_id"]
    assert max(tokens.values()) < config["text_config"]["vocab_size"]


def test_the_card_says_what_it_is_not_for() -> None:
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert "not for work" in card
    assert "What it can't do" in card
    assert "## Score" in card
