"""Somebody's command as vLLM would take it: what it does not say has vLLM's default for that version and card."""

from __future__ import annotations

from fitserve.facts.gpu import Gpu
from fitserve.plan.cpu import DEFAULT_LENGTH
from fitserve.plan.given import Given
from fitserve.plan.settings import Settings
from fitserve.units import GIB

# engine/arg_utils.py get_batch_defaults, for the API server: (from this size, sequences, tokens a step)
_LARGE, _HUGE = 70 * GIB, 160 * GIB


def as_given(given: Given) -> Settings:
    """The settings that vLLM resolves from the request, nothing chosen by us."""
    request, model = given.request, given.model
    ranks = request.tensor_parallel_size or 1
    seqs, tokens = batch_defaults(given.gpus, ranks)
    tokens = request.max_num_batched_tokens or tokens
    return Settings(
        tensor_parallel_size=ranks,
        enforce_eager=request.execution == "eager",
        max_model_len=request.max_model_len or model.max_positions or DEFAULT_LENGTH,
        max_num_seqs=request.max_num_seqs or min(seqs, tokens),
        max_num_batched_tokens=tokens,
        enable_prefix_caching=caching_default(given),
        kv_cache_dtype=request.kv_cache_dtype or "auto",
        gpu_memory_utilization=None
        if given.on_cpu
        else request.gpu_memory_utilization or given.rules.default_utilization,
        kv_cache_memory_bytes=request.kv_cache_memory_bytes,
        cpu_kv_cache_space_gib=request.cpu_kv_cache_space_gib if given.on_cpu else None,
        block_size=request.block_size,
        limit_mm_per_prompt=request.limit_mm_per_prompt or {},
        mm_processor_kwargs=request.mm_processor_kwargs,
        mm_encoder_tp_mode=request.mm_encoder_tp_mode or "weights",
        language_model_only=request.language_model_only,
        max_cudagraph_capture_size=request.max_cudagraph_capture_size,
        enable_expert_parallel=request.enable_expert_parallel,
        num_speculative_tokens=request.num_speculative_tokens,
        cpu_offload_gb=request.cpu_offload_gb,
        served_model_name=request.served_model_name,
        extra=request.extra,
    )


def batch_defaults(cards: tuple[Gpu, ...] | None, ranks: int) -> tuple[int, int]:
    """Sequences and tokens a step that the API server takes by default."""
    if cards is None:
        return 128 * ranks, 2048 * ranks
    first = cards[0] if cards else None
    if first is None or first.total_bytes < _LARGE or ("a100" in first.name.lower() and first.total_bytes < _HUGE):
        return 256, 2048
    return (1024, 16384) if first.total_bytes >= _HUGE else (1024, 8192)


def caching_default(given: Given) -> bool:
    """Prefix caching as asked, else the version's default: for hybrids off up to 0.27, on from 0.28."""
    asked = given.request.enable_prefix_caching
    if asked is not None:
        return asked
    return given.rules.prefix_caching_hybrid if given.model.linear_attention else True
