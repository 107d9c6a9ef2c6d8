"""The model families whose layers are known to the block, and what their configs leave unsaid.

Read in vLLM 0.32's model classes and transformers 5.19's config classes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What a config of this architecture means where it is silent."""

    hybrid: bool = False  # every fourth layer is full attention, the others are gated delta nets
    gated: bool = False  # the query projection carries an output gate of its own size
    rotary: float = 1.0  # share of a head that is rotated
    always_sliding: bool = False  # a sliding window without use_sliding_window holds for every layer (Mistral)
    image_limits: tuple[int, int] | None = None  # pixels of a picture, where the folder has no preprocessor file
    video_limit: int | None = None  # pixels of a clip
    head_dim: int | None = None  # the class's default; None: hidden / heads
    since: str = ""  # first vLLM release with this architecture, where it matters


_QWEN35 = Family(hybrid=True, gated=True, rotary=0.25, head_dim=256, since="0.17.0")
_QWEN35_VL = Family(
    hybrid=True,
    gated=True,
    rotary=0.25,
    head_dim=256,
    image_limits=(65_536, 16_777_216),
    video_limit=25_165_824,
    since="0.17.0",
)
_QWEN3_VL = Family(head_dim=128, image_limits=(65_536, 16_777_216), video_limit=25_165_824, since="0.11.0")
_QWEN2_VL = Family(image_limits=(3_136, 12_845_056))

FAMILIES = {
    "Qwen3_5ForConditionalGeneration": _QWEN35_VL,
    "Qwen3_5MoeForConditionalGeneration": _QWEN35_VL,
    "Qwen3_5ForCausalLM": _QWEN35,
    "Qwen3_5MoeForCausalLM": _QWEN35,
    "Qwen3NextForCausalLM": Family(hybrid=True, gated=True, rotary=0.25, head_dim=256, since="0.10.2"),
    "Qwen3VLForConditionalGeneration": _QWEN3_VL,
    "Qwen3VLMoeForConditionalGeneration": _QWEN3_VL,
    "Qwen2_5_VLForConditionalGeneration": _QWEN2_VL,
    "Qwen2VLForConditionalGeneration": _QWEN2_VL,
    "Qwen3ForCausalLM": Family(head_dim=128),
    "Qwen3MoeForCausalLM": Family(head_dim=128),
    "Qwen2ForCausalLM": Family(),
    "Qwen2MoeForCausalLM": Family(),
    "LlamaForCausalLM": Family(),
    "MistralForCausalLM": Family(always_sliding=True),
    "MixtralForCausalLM": Family(always_sliding=True),
}
