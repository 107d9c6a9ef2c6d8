"""What a person asks for. None means: the plan chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fitserve.plan.settings import Limit

Execution = Literal["auto", "graphs", "eager"]
Goal = Literal["latency", "throughput", "context"]

EXECUTIONS: tuple[Execution, ...] = ("auto", "graphs", "eager")
GOALS: tuple[Goal, ...] = ("latency", "throughput", "context")
PRESETS = ("articles",)


@dataclass(frozen=True)
class PlanRequest:
    """The asked settings under vLLM's names, and where the service is to listen."""

    tensor_parallel_size: int | None = None
    execution: Execution = "auto"
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    enable_prefix_caching: bool | None = None
    kv_cache_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    cpu_kv_cache_space_gib: int | None = None
    block_size: int | None = None
    limit_mm_per_prompt: dict[str, Limit] | None = None
    mm_processor_kwargs: dict[str, object] = field(default_factory=dict)
    mm_encoder_tp_mode: str | None = None
    language_model_only: bool = False
    max_cudagraph_capture_size: int | None = None
    enable_expert_parallel: bool = False
    num_speculative_tokens: int = 0
    cpu_offload_gb: float = 0.0
    served_model_name: str = ""
    goal: Goal = "latency"
    preset: str = ""
    extra: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
