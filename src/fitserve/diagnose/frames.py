"""Which stage the functions of a traceback belong to (vLLM's names, 0.8.5 to 0.33)."""

from __future__ import annotations

import re

from fitserve.observe.log.failures import Failure
from fitserve.stage import Stage

PROBE = {"profile_cudagraph_memory", "_init_minimal_kv_cache_for_profiling"}
PROFILE = {
    "profile_run",
    "determine_available_memory",
    "determine_num_available_blocks",
    "profile_num_available_blocks",
}
CAPTURE = {
    "capture_model", "_capture_cudagraphs", "_warmup_and_capture", "capture_end", "capture_begin", "capture_graphs",
}  # fmt: skip
CAPTURE_FILE = re.compile(r"torch/cuda/graphs\.py|cudagraph_utils\.py")
WARM = {
    "compile_or_warm_up_model", "kernel_warmup", "warmup_kernels", "_warmup_prefill_kernels", "_dummy_sampler_run",
    "warming_up_model",
}  # fmt: skip
LOAD = {
    "load_model", "initialize_model", "create_weights", "process_weights_after_loading", "gptq_marlin_moe_repack",
    "awq_marlin_moe_repack", "marlin_moe_permute_scales", "meta_to_empty", "_initialize_model", "load_weights",
}  # fmt: skip
DEVICE = {"init_device", "init_worker_distributed_environment", "set_device", "request_memory"}
KV = {
    "initialize_from_config", "initialize_kv_cache", "_allocate_kv_cache", "_allocate_kv_cache_tensors",
    "initialize_kv_cache_tensors", "initialize_cache", "_init_cache_engine",
}  # fmt: skip
SERVE = {"_process_engine_step", "run_busy_loop", "run_engine_loop", "execute_model", "sample_tokens", "engine_step"}


def stage_of_frames(failure: Failure) -> Stage | None:
    """The stage that the functions of a traceback belong to, None where none is known."""
    names, files = failure.functions, " ".join(frame.file for frame in failure.frames)
    places = (
        (PROBE | PROFILE, Stage.PROFILE), (CAPTURE, Stage.GRAPH_CAPTURE), (WARM, Stage.WARMUP),
        (KV, Stage.KV_ALLOC), (LOAD, Stage.LOAD), (SERVE, Stage.SERVE),
    )  # fmt: skip
    if CAPTURE_FILE.search(files) and not names & PROFILE:
        return Stage.GRAPH_CAPTURE
    return next((stage for functions, stage in places if names & functions), None)
