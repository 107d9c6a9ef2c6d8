"""What a plan is made from: one frozen value handed to the ledger, the search and the checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.facts.model import ModelFacts
from fitserve.plan.cache_shape import cache_shape
from fitserve.plan.kv import Layout, RequestShape, layout
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings
from fitserve.plan.versions import EngineRules, rules

CPU_BLOCK, GPU_BLOCK = 128, 16  # platforms/cpu.py sets 128; the attention kernels of a GPU start at 16


@dataclass(frozen=True)
class Given:
    """The facts and the wishes. `gpus` is None on a CPU engine."""

    request: PlanRequest
    model: ModelFacts
    engine: EngineFacts
    host: HostFacts
    gpus: tuple[Gpu, ...] | None
    learned: tuple[Path, ...] = ()  # calibration files of this machine's own starts
    warm: bool = False  # the compile cache holds this model and shape: nothing is compiled at the start

    @property
    def on_cpu(self) -> bool:
        """Whether the engine computes on the processor."""
        return self.gpus is None

    @property
    def rules(self) -> EngineRules:
        """The gates of the engine's version."""
        return rules(self.engine.version)

    @property
    def runner(self) -> int | None:
        """Which of vLLM's model runners serves this model by default; None where its name decides."""
        simple = self.model.linear_attention is None and self.model.experts is None
        return self.rules.dense_runner if simple else self.rules.runner

    def layout(self, settings: Settings) -> Layout | None:
        """The cache's layout under these settings, None where the architecture's cache is not known."""
        shape = cache_shape(
            self.model, settings.tensor_parallel_size, settings.kv_cache_dtype, settings.num_speculative_tokens
        )
        base = CPU_BLOCK if self.on_cpu else GPU_BLOCK
        return None if shape is None else layout(shape, max(32 if self.on_cpu else 16, settings.block_size or base))

    def request_shape(self, settings: Settings) -> RequestShape:
        """What a request keeps besides its tokens. A GPU engine has two steps in flight (asynchronous scheduling)."""
        steps = 1 if self.on_cpu or self.rules.release < (0, 28) else 2
        return RequestShape(
            settings.enable_prefix_caching, settings.num_speculative_tokens, steps * settings.max_num_batched_tokens
        )
