"""How each family names and splits its modules in a published checkpoint.

Read from published safetensors indexes and from the `packed_modules_mapping` and weight mappers of vLLM 0.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tower(StrEnum):
    """The makes of vision tower that can be laid out."""

    NONE = "none"
    QWEN2 = "qwen2"  # LayerNorm, fc1 and fc2
    QWEN25 = "qwen2.5"  # RMSNorm, gated MLP, windows
    QWEN3 = "qwen3"  # LayerNorm, linear_fc1 and linear_fc2, learned positions, deepstack


@dataclass(frozen=True)
class Naming:
    """Prefixes and splits of one architecture."""

    language: str = "model."
    tower: Tower = Tower.NONE
    tower_prefix: str = "model.visual."
    qk_norm: bool = False
    qkv_bias: bool = False
    fused_experts: bool = False  # unquantized checkpoints keep one tensor for all experts
    joint_delta_net: bool = False  # in_proj_qkvz and in_proj_ba in place of four (Qwen3-Next)
    mtp: bool = False


_QWEN35_VL = Naming(language="model.language_model.", tower=Tower.QWEN3, qk_norm=True, fused_experts=True, mtp=True)
_QWEN35 = Naming(qk_norm=True, fused_experts=True, mtp=True)
_QWEN3_VL = Naming(language="model.language_model.", tower=Tower.QWEN3, qk_norm=True, fused_experts=True)
NAMINGS = {
    "Qwen3_5ForConditionalGeneration": _QWEN35_VL,
    "Qwen3_5MoeForConditionalGeneration": _QWEN35_VL,
    "Qwen3_5ForCausalLM": _QWEN35,
    "Qwen3_5MoeForCausalLM": _QWEN35,
    "Qwen3NextForCausalLM": Naming(qk_norm=True, joint_delta_net=True, mtp=True),
    "Qwen3VLForConditionalGeneration": _QWEN3_VL,
    "Qwen3VLMoeForConditionalGeneration": _QWEN3_VL,
    "Qwen2_5_VLForConditionalGeneration": Naming(tower=Tower.QWEN25, tower_prefix="visual.", qkv_bias=True),
    "Qwen2VLForConditionalGeneration": Naming(tower=Tower.QWEN2, tower_prefix="visual.", qkv_bias=True),
    "Qwen3ForCausalLM": Naming(qk_norm=True),
    "Qwen3MoeForCausalLM": Naming(qk_norm=True),
    "Qwen2ForCausalLM": Naming(qkv_bias=True),
    "LlamaForCausalLM": Naming(),
    "MistralForCausalLM": Naming(),
}
