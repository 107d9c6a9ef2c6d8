"""The GPU is too old, or lacks what the scheme, the number format or the kernel needs.

Sees: «Minimum capability: N. Current capability: M», «Bfloat16 is only supported on GPUs with compute capability of
at least 8.0», FP8 that the architecture has not, no attention or expert kernel for the combination, a kernel's shared
memory.
Why: kernels are written for a compute capability: bf16 needs 8.0, FP8 8.9, compressed-tensors W4A16 7.5 or 8.0.
Disproved by: a build without kernels for the card («no kernel image»): then the build is too old, not the card.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import drop, make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding, first
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "unsupported_capability"


def judge(case: Case) -> Finding | None:
    seen = first(
        case, "bf16", "capability", "scheme", "fp8_arch", "no_backend", "needs_newer", "shared_memory", "no_moe"
    )
    if seen is None or seen.level in ("INFO", "DEBUG", "WARNING"):
        return None
    return finding(case, CAUSE, _stage(case, seen), [seen], _fixes(case, seen))


def _stage(case: Case, seen: Hit) -> Stage:
    if "Bfloat16" in seen.text or seen.text.lstrip().startswith("Value error"):
        return Stage.CONFIG
    config = any("config" in frame.file for failure in case.roots for frame in failure.frames if frame.file)
    loader = any("load" in frame.file for failure in case.roots for frame in failure.frames if frame.file)
    if "quantization method" in seen.text and (seen.process.startswith("APIServer") or (config and not loader)):
        return Stage.CONFIG
    if "shared memory" in seen.text:
        return case.place(case.framed or seen.stage or Stage.PROFILE)
    return case.started(Stage.LOAD)


def _fixes(case: Case, seen: Hit) -> list[Fix | None]:
    text = seen.text
    if "Bfloat16" in text:
        return [make({"--dtype": "half"}, "half_precision")]
    if "FP8 KV" in text or ("fp8e4nv" in text and "kv" in str(case.settings.get("--kv-cache-dtype", "")).lower()):
        return [make({"--kv-cache-dtype": "fp8_e5m2"}, "kv_e5m2"), make({"--kv-cache-dtype": "auto"}, "kv_auto")]
    if "does not support float16" in text:
        return [make({"--dtype": "bfloat16"}, "wider_numbers")]
    if "--kv-cache-dtype" in text and "is not supported by" in text:
        return [make({"--kv-cache-dtype": "auto"}, "kv_auto")]
    if "attention backend" in text or "vit attention" in text or "Selected backend" in text:
        return [
            drop(case, "--attention-backend", "drop_backend"),
            drop(case, "--mm-encoder-attn-backend", "drop_backend"),
            make({"--kv-cache-dtype": "auto"}, "kv_auto") if case.settings.get("--kv-cache-dtype") else None,
            step("newer_engine"),
        ]
    if "shared memory" in text:
        return [step("newer_engine"), step("other_checkpoint")]
    if "awq" in text and "capability" in text.lower() and case.at_least(0, 8) is False:
        return [make({"--quantization": "gptq"}, "gptq_checkpoint"), step("newer_card")]
    return [step("native_checkpoint"), step("newer_card")]


RULE = Rule(
    CAUSE,
    (
        see("bf16", "bfloat16", r"Bfloat16 is only supported on GPUs with compute capability"),
        see(
            "capability",
            "capability",
            r"not supported for the current GPU\. Min(?:imum)? capability|Minimum capability: \d",
        ),
        see("scheme", "scheme", r"Quantization scheme is not supported for"),
        see(
            "fp8_arch",
            "architecture fp fp8e4nv cache",
            r"fp8e4nv not supported in this architecture|FP8 KV cache is not supported by|not "
            r"supported in this architecture",
        ),
        see(
            "no_backend",
            "attention flashattention valid",
            r"No valid (?:\w{1,6} prefill |attention )backend found|FlashAttention only supports Ampere|"
            r"Selected backend .{1,80} is not valid for this configuration|is not supported for vit attention",
        ),
        see(
            "needs_newer",
            "requires require needs supports support capability supported bf16 need higher newer above later",
            r"(?:requires?|needs?) (?:a )?(?:GPUs? with )?(?:compute capability|SM ?\d|sm_?\d|CUDA capability)|"
            r"supports? .{0,60}compute capability|does not support (?:float16|bfloat16)\. Reason|"
            r"--kv-cache-dtype \S{1,40} is not supported by|"
            r"only supported on .{0,40}(?:compute capability|SM ?\d|sm_?\d)|"
            r"\bsm_?\d{2,3}a? or (?:higher|newer|above|later)|CPU GDN attention requires BF16",
        ),
        see("shared_memory", "resource", r"out of resource: shared memory"),
        see(
            "no_moe",
            "moe expert",
            r"No .{2,20} MoE backends? (?:supports the deployment configuration|available)|"
            r"does not support this MoE deployment|No supported \w{2,10} expert class",
        ),
    ),
    judge,
    explains=frozenset({"kernel_crash", "quant_format_mismatch"}),
)
