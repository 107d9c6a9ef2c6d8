"""A kernel crashed; it is no lack of memory.

Sees: «illegal memory access», «illegal instruction», «unspecified launch failure», a device-side assertion, Xid
lines, a segmentation fault, a locked workspace that had to grow, an exit by signal 11 or 6.
Why: a bug in a kernel for this GPU, often with speculative decoding or graphs on; the reported place is often not the
true one, because CUDA reports late. Xid in the kernel log points at the hardware.
Disproved by: the crash going with CUDA_LAUNCH_BLOCKING=1 to an allocation.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import drop, eager, environment, make, step
from fitserve.diagnose.frames import stage_of_frames
from fitserve.diagnose.oom import find_oom
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding
from fitserve.stage import Stage

CAUSE = "kernel_crash"
_AFTER = ("previous error during capture", "Encoder cache miss for", "encoder_output is not None")


def judge(case: Case) -> Finding | None:
    seen = [hit for hit in case.hits("crash") if hit.level not in ("INFO", "DEBUG")]
    notes = case.noted("crash")
    if any("custom_all_reduce" in hit.text for hit in case.hits("nccl_error")):  # transfers, not a kernel of the model
        return None
    if find_oom(case) is not None:  # what ran out of memory breaks what comes after it
        seen = [hit for hit in seen if not any(words in hit.text for words in _AFTER)]
    if not seen and not notes:
        return None
    confidence = Confidence.HIGH if seen else Confidence.MEDIUM
    return finding(case, CAUSE, _stage(case), [*seen[:2], *notes[:1]], _fixes(case), confidence=confidence)


def _stage(case: Case) -> Stage:
    """CUDA reports late, so the traceback is only a hint; a start that was not reached is no place."""
    frames = next((found for failure in case.roots if (found := stage_of_frames(failure))), None)
    started = case.start.stage if case.start.stage not in (None, Stage.CONFIG) else None
    return case.place(frames or started or Stage.SERVE)


def _fixes(case: Case) -> list[Fix | None]:
    speculative = drop(case, "--speculative-config", "drop_speculation")
    no_graphs = None if case.at_least(0, 8) is False else eager(case, "eager_crash")
    reduces = any("custom_all_reduce" in frame.file for failure in case.roots for frame in failure.frames)
    transfers = make({"--disable-custom-all-reduce": True}, "plain_transfers") if reduces else None
    trace = environment("launch_blocking", CUDA_LAUNCH_BLOCKING="1")
    return [speculative, transfers, no_graphs, step("other_version"), trace]


RULE = Rule(
    CAUSE,
    (
        see(
            "crash",
            "illegal launch assert misaligned xid segmentation workspace encoder cublas fallen "
            "previous sigsegv segfault fatal ecc capture capturing cudnn_status_execution_failed invalid cuda exit "
            "code exitcode cublas_status_execution_failed cublas_status_internal_error signal core "
            "cudaerrorstreamcaptureinvalidated cudaerrorstreamcaptureunsupported "
            "cudaerrorstreamcaptureimplicit",
            r"illegal memory access|illegal instruction was encountered|unspecified launch "
            r"failure|device-side assert|"
            r"misaligned address|the launch timed out and was terminated|NVRM: Xid|\bXid \(|"
            r"Segmentation fault|Segfault encountered|SIGSEGV|"
            r"Fatal Python error: (?:Aborted|Illegal instruction)|"
            r"Workspace is locked but|Encoder cache miss for|"
            r"CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)|fallen off the bus|"
            r"operation failed due to a previous error during capture|"
            r"cudaErrorStreamCapture(?:Invalidated|Unsupported|Implicit)|"
            r"operation not permitted when stream is capturing|uncorrectable ECC|"
            r"CUDA error: (?:unknown error|invalid (?:argument|configuration)|an? \w{1,20} instruction)|"
            r"CUDNN_STATUS_EXECUTION_FAILED|exit ?code:? -(?:11|6)\b|signal (?:11|6)\b|"
            r"Failed core proc\(s\): \{[^}]{1,60}: -(?:11|6)\b",
        ),
    ),
    judge,
)
