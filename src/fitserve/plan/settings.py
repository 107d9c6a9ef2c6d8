"""The settings of a deployment: vLLM's flags under vLLM's names, none left to a default that moves."""

from __future__ import annotations

from dataclasses import dataclass, field

Limit = int | dict[str, object]  # a count, or vLLM's table of a count and sizes


@dataclass(frozen=True)
class Settings:
    """What vLLM is started with. Field names are vLLM's flag names with underscores."""

    tensor_parallel_size: int
    enforce_eager: bool
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    enable_prefix_caching: bool
    kv_cache_dtype: str = "auto"
    gpu_memory_utilization: float | None = None  # None where the CPU's KV space decides
    kv_cache_memory_bytes: int | None = None
    cpu_kv_cache_space_gib: int | None = None  # VLLM_CPU_KVCACHE_SPACE
    block_size: int | None = None
    limit_mm_per_prompt: dict[str, Limit] = field(default_factory=dict)
    mm_processor_kwargs: dict[str, object] = field(default_factory=dict)
    mm_encoder_tp_mode: str = "weights"
    language_model_only: bool = False
    max_cudagraph_capture_size: int | None = None
    enable_expert_parallel: bool = False
    num_speculative_tokens: int = 0
    cpu_offload_gb: float = 0.0  # GiB of one rank's weights in the host's memory
    served_model_name: str = ""
    extra: tuple[str, ...] = ()  # what followed `--`, passed on untouched
