"""Each family's config, as published, becomes the right facts."""

from __future__ import annotations

from typing import Any

import pytest

from fitserve.facts.model import Attention, LayerKind, ModelFacts
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read_config import describe

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072, "tie_word_embeddings": False,
}  # fmt: skip


def facts(config: dict[str, Any], **changes: object) -> ModelFacts:
    config = {**config, **changes}
    return describe(config, (), read_quantization(config), name="x", source="x")


def test_llama() -> None:
    model = facts(LLAMA)
    assert model.attention == Attention(32, 8, 128) and model.rotary_dim == 128
    assert model.count(LayerKind.FULL_ATTENTION) == 32 and model.vision is None and model.experts is None


def test_llama_without_kv_heads_has_as_many_as_query_heads() -> None:
    assert facts(LLAMA, num_key_value_heads=None).attention == Attention(32, 32, 128)


@pytest.mark.parametrize(("window", "sliding"), [(4096, 32), (None, 0)])
def test_mistral_slides_in_every_layer(window: int | None, sliding: int) -> None:
    model = facts(LLAMA, architectures=["MistralForCausalLM"], sliding_window=window)
    assert model.count(LayerKind.SLIDING_ATTENTION) == sliding and model.sliding_window == window


@pytest.mark.parametrize(("used", "sliding"), [(True, 4), (False, 0)])
def test_qwen2_slides_from_a_layer_on_if_at_all(used: bool, sliding: int) -> None:
    window = {"use_sliding_window": used, "sliding_window": 32768, "max_window_layers": 28}
    model = facts(LLAMA, architectures=["Qwen2ForCausalLM"], **window)
    assert model.count(LayerKind.SLIDING_ATTENTION) == sliding
    assert model.sliding_window == (32768 if used else None)


def test_qwen3_next_leaves_its_pattern_unsaid() -> None:
    linear = {
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
    }  # fmt: skip
    model = facts(LLAMA, architectures=["Qwen3NextForCausalLM"], num_hidden_layers=48, head_dim=256, **linear)
    assert model.count(LayerKind.FULL_ATTENTION) == 12 and model.count(LayerKind.LINEAR_ATTENTION) == 36
    assert model.attention is not None and model.attention.output_gate and model.rotary_dim == 64
    assert model.linear_attention is not None and model.linear_attention.state_dtype == "bfloat16"


def test_experts_with_dense_layers_between() -> None:
    moe = {"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 512, "decoder_sparse_step": 2}
    model = facts(LLAMA, architectures=["Qwen3MoeForCausalLM"], num_hidden_layers=6, mlp_only_layers=[1], **moe)
    assert model.experts is not None and model.experts.dense_layers == (0, 1, 2, 4)


def test_qwen2_vl_keeps_the_tower_under_other_names() -> None:
    tower = {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "mlp_ratio": 4, "num_heads": 16, "patch_size": 14,
             "spatial_merge_size": 2, "temporal_patch_size": 2}  # fmt: skip
    vision = facts(LLAMA, architectures=["Qwen2VLForConditionalGeneration"], vision_config=tower).vision
    assert vision is not None and (vision.hidden, vision.out_hidden, vision.intermediate) == (1280, 3584, 5120)
    assert vision.max_pixels == 12_845_056 and vision.tokens(1008, 1008) == 36 * 36


def test_an_unknown_architecture_is_read_as_far_as_it_goes() -> None:
    model = facts(LLAMA, architectures=["BrandNewForCausalLM"])
    assert set(model.layers) == {LayerKind.UNKNOWN} and len(model.layers) == 32
    assert model.vocab == 128256 and model.rotary_dim is None and model.tied_embeddings is False


def test_a_config_that_says_nothing() -> None:
    model = facts({})
    assert (model.architecture, model.layers, model.attention, model.vocab) == ("", (), None, None)
    assert model.tied_embeddings is None and model.hidden is None
