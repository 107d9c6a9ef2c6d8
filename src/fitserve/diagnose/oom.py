"""Where an allocation failed: torch's sentence carries no stage, so it is read from the traceback, or from the order.

The frames come first (vLLM's function names, 0.8.5 to 0.33), then sentences that only one place writes, then the
stage that had been reached. Private pools in torch's sentence show that graphs had been captured already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence
from fitserve.diagnose.frames import CAPTURE, CAPTURE_FILE, DEVICE, KV, LOAD, PROBE, PROFILE, SERVE, WARM
from fitserve.observe.log.failures import Failure
from fitserve.stage import Stage

_OUT = re.compile(
    r"(?:CUDA|HIP|XPU|NPU) out of memory|CUDA error: out of memory|"
    r"Triton Error \[CUDA\]: out of memory|OutOfMemoryError|"
    r"CUBLAS_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)|cudaErrorMemoryAllocation|"
    r"Failed to load model.{0,40}not enough GPU memory|"
    r"CUDA driver error: out of memory"
)
_TUNED = re.compile(r"Triton Error \[CUDA\]: out of memory")
_VISION = {
    "embed_multimodal", "get_multimodal_embeddings", "_execute_mm_encoder", "execute_mm_encoder",
    "_process_image_input", "_process_video_input", "get_image_features", "get_video_features", "_get_mm_dummy_batch",
    "_process_image_pixels",
}  # fmt: skip
_VISION_FILE = re.compile(r"vision|siglip|[/_]vit|mm_encoder|vit_attn|clip")
_FORWARD = {"forward", "fused_experts_impl", "inplace_fused_experts", "forward_cuda", "forward_native", "_dummy_run"}
_AUTOTUNE = {"solve_tril", "_bench", "do_bench", "chunk_gated_delta_rule"}
SAMPLER_FILE = re.compile(r"sample/|sampler|structured_outputs")


@dataclass(frozen=True)
class Oom:
    """The first allocation that failed: which cause it belongs to, at which stage, and how sure that is."""

    cause: str
    stage: Stage
    failure: Failure
    confidence: Confidence


def find_oom(case: Case) -> Oom | None:
    """Read the first failed allocation of a start, or None where none failed."""
    failure = next((item for item in case.roots if _is_oom(item)), None)
    if failure is None:
        return None
    return _by_frames(case, failure) or _by_sentence(case, failure) or _by_stage(case, failure)


def _is_oom(failure: Failure) -> bool:
    text = f"{failure.error}: {failure.message}"
    return bool(_OUT.search(text)) and "NCCL" not in text


def _by_frames(case: Case, failure: Failure) -> Oom | None:
    """The outermost function that tells decides: a capture inside the probe is the probe's."""
    names, files = failure.functions, " ".join(frame.file for frame in failure.frames)
    if names & PROBE:
        return Oom("oom_graph_probe", Stage.PROFILE, failure, Confidence.HIGH)
    if names & PROFILE:
        return _while_profiling(case, failure, files)
    if names & CAPTURE or CAPTURE_FILE.search(files):
        return Oom("oom_graph_capture", Stage.GRAPH_CAPTURE, failure, Confidence.HIGH)
    if names & WARM:
        return Oom("oom_graph_capture", Stage.WARMUP, failure, Confidence.HIGH)
    if names & KV:
        return _while_allocating(case, failure)
    return _before_or_after(case, failure)


def _while_profiling(case: Case, failure: Failure, files: str) -> Oom:
    names = failure.functions
    language = names & {"_dummy_run", "_dummy_sampler_run", "fused_experts_impl", "compute_logits"}
    vision = bool(names & _VISION or _VISION_FILE.search(files)) or (not language and _vision_pass(case))
    cause = "oom_mm_encoder_profile" if vision else "oom_profile_activation"
    return Oom(cause, Stage.PROFILE, failure, Confidence.HIGH)


def _before_or_after(case: Case, failure: Failure) -> Oom | None:
    """Loading and the device, or a request."""
    names = failure.functions
    if names & LOAD and not case.served and any(SAMPLER_FILE.search(frame.file) for frame in failure.frames):
        return Oom("oom_profile_activation", Stage.LOAD, failure, Confidence.HIGH)  # the sampler's state, by requests
    if names & LOAD and not case.served:
        return Oom("oom_weight_load", Stage.LOAD, failure, Confidence.HIGH)
    if names & DEVICE and not case.served:  # nothing of this engine is on the card yet
        return Oom("gpu_memory_held", Stage.CONFIG, failure, Confidence.MEDIUM)
    if names & SERVE and (case.served or case.start.stage is None):
        return _while_serving(failure, Confidence.HIGH)
    return None


def _while_allocating(case: Case, failure: Failure) -> Oom:
    """The cache itself, or the throw-away one of the graph probe: the probe comes before the size is printed."""
    sized = case.figure("available_kv_gib") is not None
    probes = case.at_least(0, 19) is not False and not case.eager and not case.number("--kv-cache-memory-bytes")
    if not sized and probes:
        return Oom("oom_graph_probe", Stage.PROFILE, failure, Confidence.MEDIUM)
    return Oom("no_kv_memory", Stage.KV_ALLOC, failure, Confidence.HIGH)


def _while_serving(failure: Failure, confidence: Confidence) -> Oom:
    tuned = bool(_TUNED.search(failure.text)) or bool(failure.functions & {"_bench", "do_bench"})
    return Oom("oom_first_request_jit" if tuned else "oom_runtime", Stage.SERVE, failure, confidence)


def _by_sentence(case: Case, failure: Failure) -> Oom | None:
    if re.search("warming up (?:sampler|pooler)", failure.text):
        return Oom("oom_graph_capture", Stage.WARMUP, failure, Confidence.HIGH)
    if "Failed to load model" in failure.text:
        return Oom("oom_weight_load", Stage.LOAD, failure, Confidence.HIGH)
    if case.served:
        return _while_serving(failure, Confidence.HIGH)
    if case.figure("graph_pools_gib"):  # graphs are there already
        sampler = any(SAMPLER_FILE.search(frame.file) for frame in failure.frames)
        stage = Stage.WARMUP if sampler else Stage.GRAPH_CAPTURE
        return Oom("oom_graph_capture", stage, failure, Confidence.MEDIUM)
    if any(0 <= failure.line - hit.line <= 40 for hit in case.hits("load_wrapper")) and not case.reached(
        Stage.KV_ALLOC
    ):
        return Oom("oom_weight_load", Stage.LOAD, failure, Confidence.MEDIUM)
    return None


def _by_stage(case: Case, failure: Failure) -> Oom:
    medium, stage = Confidence.MEDIUM, failure.stage
    if case.reached(Stage.PROFILE) and stage is not None and stage.before(Stage.PROFILE):
        stage = Stage.PROFILE
    if stage is Stage.PROFILE or (stage is Stage.CONFIG and case.hits("mm_profile")):
        return Oom(_profiled(case, failure), Stage.PROFILE, failure, medium)
    if stage in (Stage.KV_ALLOC, Stage.GRAPH_CAPTURE, Stage.WARMUP):
        if case.eager:
            return Oom("oom_graph_capture", Stage.WARMUP, failure, Confidence.LOW)
        return Oom("oom_graph_capture", Stage.GRAPH_CAPTURE, failure, medium)
    if stage is Stage.LOAD:
        return Oom("oom_weight_load", Stage.LOAD, failure, medium)
    return _by_little(case, failure)


def _profiled(case: Case, failure: Failure) -> str:
    """Which pass of the profile it was, without frames that say so."""
    if case.figure("probe_blocks"):
        return "oom_graph_probe"
    experts = failure.functions & {"fused_experts_impl", "inplace_fused_experts"}
    return "oom_mm_encoder_profile" if _vision_pass(case) and not experts else "oom_profile_activation"


def _by_little(case: Case, failure: Failure) -> Oom:
    """A cut log without stages: what is left to go by."""
    if failure.functions & _AUTOTUNE or _TUNED.search(failure.text):
        return Oom("oom_first_request_jit", Stage.SERVE, failure, Confidence.LOW)
    if case.hits("work_wrapper") or failure.functions & _FORWARD:  # a call after loading, a pass of the model
        return Oom("oom_profile_activation", Stage.PROFILE, failure, Confidence.LOW)
    return Oom("oom_weight_load", Stage.LOAD, failure, Confidence.LOW)


def _vision_pass(case: Case) -> bool:
    """Whether the profile was still at the pictures: their line is there, and nothing of the language pass after it."""
    encoder = case.start.figure_lines.get("encoder_budget_tokens")
    warned = case.hits("mm_profile")
    if encoder is None:
        return bool(warned)
    later = [case.start.figure_lines.get(name, 0) for name in ("compile_seconds", "profile_seconds", "probe_blocks")]
    compiled = [hit.line for hit in case.hits("language_pass")]
    return max([*later, *compiled]) < encoder
