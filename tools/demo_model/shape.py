"""The demo model's dimensions, and the config.json that says them.

Every quantized linear keeps inputs a multiple of 128 and outputs of 64 on each of two ranks (GPU kernels; the CPU's
ask for 32). Head sizes are ones that the CPU engine has.
"""

from dataclasses import dataclass
from typing import Any

GROUP_SIZE = 32


@dataclass(frozen=True)
class VisionShape:
    depth: int = 6
    hidden: int = 192
    heads: int = 6
    intermediate: int = 512
    grid: int = 16
    patch: int = 16
    merge: int = 2


@dataclass(frozen=True)
class TextShape:
    layers: int = 8
    hidden: int = 256
    intermediate: int = 512
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    gdn_key_heads: int = 2
    gdn_value_heads: int = 2
    gdn_head_dim: int = 64
    conv_kernel: int = 4
    full_every: int = 4
    rope_theta: float = 1e6
    rotary_share: float = 0.5
    mrope_section: tuple[int, int, int] = (6, 5, 5)
    epsilon: float = 1e-6

    @property
    def layer_types(self) -> list[str]:
        kinds = ("linear_attention", "full_attention")
        return [kinds[(index + 1) % self.full_every == 0] for index in range(self.layers)]

    @property
    def key_dim(self) -> int:
        return self.gdn_key_heads * self.gdn_head_dim

    @property
    def value_dim(self) -> int:
        return self.gdn_value_heads * self.gdn_head_dim


@dataclass(frozen=True)
class Shape:
    vision: VisionShape = VisionShape()
    text: TextShape = TextShape()
    max_positions: int = 32768


def config(shape: Shape, ids: dict[str, int], vocabulary: int) -> dict[str, Any]:
    """config.json as Qwen3.5 writes it; `ids` are the special tokens' numbers."""
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "dtype": "bfloat16",
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
        "tie_word_embeddings": False,
        "text_config": _text_config(shape, ids, vocabulary),
        "vision_config": _vision_config(shape),
        "quantization_config": quantization(shape),
    }


def _text_config(shape: Shape, ids: dict[str, int], vocabulary: int) -> dict[str, Any]:
    text = shape.text
    return {
        "model_type": "qwen3_5_text",
        "dtype": "bfloat16",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "attn_output_gate": True,
        "bos_token_id": None,
        "eos_token_id": ids["<|im_end|>"],
        "pad_token_id": None,
        "full_attention_interval": text.full_every,
        "head_dim": text.head_dim,
        "hidden_act": "silu",
        "hidden_size": text.hidden,
        "initializer_range": 0.02,
        "intermediate_size": text.intermediate,
        "layer_types": text.layer_types,
        "linear_conv_kernel_dim": text.conv_kernel,
        "linear_key_head_dim": text.gdn_head_dim,
        "linear_num_key_heads": text.gdn_key_heads,
        "linear_num_value_heads": text.gdn_value_heads,
        "linear_value_head_dim": text.gdn_head_dim,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": shape.max_positions,
        "mtp_num_hidden_layers": 0,
        "num_attention_heads": text.heads,
        "num_hidden_layers": text.layers,
        "num_key_value_heads": text.kv_heads,
        "partial_rotary_factor": text.rotary_share,
        "rms_norm_eps": text.epsilon,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": list(text.mrope_section),
            "partial_rotary_factor": text.rotary_share,
            "rope_theta": text.rope_theta,
            "rope_type": "default",
        },
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": vocabulary,
    }


def _vision_config(shape: Shape) -> dict[str, Any]:
    vision = shape.vision
    return {
        "model_type": "qwen3_5",
        "dtype": "bfloat16",
        "deepstack_visual_indexes": [],
        "depth": vision.depth,
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": vision.hidden,
        "in_channels": 3,
        "initializer_range": 0.02,
        "intermediate_size": vision.intermediate,
        "num_heads": vision.heads,
        "num_position_embeddings": vision.grid**2,
        "out_hidden_size": shape.text.hidden,
        "patch_size": vision.patch,
        "spatial_merge_size": vision.merge,
        "temporal_patch_size": 2,
    }


def quantization(shape: Shape) -> dict[str, Any]:
    """The compressed-tensors section: every linear of full attention and MLP, the rest named as left in 16 bit."""
    weights = {
        "actorder": None,
        "block_structure": None,
        "dynamic": False,
        "group_size": GROUP_SIZE,
        "num_bits": 4,
        "observer": "minmax",
        "observer_kwargs": {},
        "strategy": "group",
        "symmetric": True,
        "type": "int",
    }
    group = {"format": "pack-quantized", "input_activations": None, "output_activations": None, "targets": ["Linear"]}
    return {
        "config_groups": {"group_0": {**group, "weights": weights}},
        "format": "pack-quantized",
        "global_compression_ratio": None,
        "ignore": ignored(shape),
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
    }


def ignored(shape: Shape) -> list[str]:
    """The linears that stay in 16 bit, as published checkpoints of the kind list them."""
    vision = ("attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2")
    gdn = ("out_proj", "in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
    kinds = shape.text.layer_types
    linear = [index for index, kind in enumerate(kinds) if kind == "linear_attention"]
    return [
        *(f"model.visual.blocks.{index}.{part}" for index in range(shape.vision.depth) for part in vision),
        "model.visual.merger.linear_fc1",
        "model.visual.merger.linear_fc2",
        *(f"model.language_model.layers.{index}.linear_attn.{part}" for index in linear for part in gdn),
        "lm_head",
        "re:^mtp.*",
    ]
