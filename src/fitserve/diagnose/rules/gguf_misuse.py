"""A GGUF file where vLLM can't use it, or without what must come with it.

Sees: «GGUF model with architecture X is not supported», a quantization mismatch against gguf, a failure under
`load_gguf_checkpoint`, a .gguf model that lacks a tokenizer or config.
Why: vLLM reads few GGUF architectures, no vision ones, and needs the base model's tokenizer and config beside the
file; a config that names another quantization contradicts the file.
Disproved by: a safetensors checkpoint being what is served.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding
from fitserve.stage import Stage

CAUSE = "gguf_misuse"


def judge(case: Case) -> Finding | None:
    mismatch = next((hit for hit in case.hits("quant_flag") if "gguf" in hit.text.lower()), None)
    if mismatch is not None:
        override: dict[str, object] = {"--hf-overrides": {"quantization_config": {}}}
        return finding(
            case, CAUSE, Stage.CONFIG, [mismatch], [make(override, "gguf_override"), step("safetensors_build")]
        )
    seen = early(case, "gguf_architecture", "gguf_frame")
    if seen is not None:
        return finding(case, CAUSE, Stage.CONFIG, [seen], _fixes(case))
    if _serves_gguf(case) and (lacking := early(case, "file_missing")) is not None:
        return finding(case, CAUSE, Stage.CONFIG, [lacking], [step("gguf_tokenizer"), *_fixes(case)])
    return None


def _fixes(case: Case) -> list[Fix | None]:  # noqa: ARG001 - the shape of the other rules
    return [step("safetensors_build"), step("llama_cpp")]


def _serves_gguf(case: Case) -> bool:
    return "gguf" in f"{case.settings.get('--model', '')}{case.start.figures.get('model', '')}".lower()


RULE = Rule(
    CAUSE,
    (
        see(
            "gguf_architecture",
            "gguf",
            r"GGUF model with architecture .{1,60} is not supported|Unknown gguf model_type|gguf.{0,60}not supported",
        ),
        see(
            "gguf_frame",
            "load_gguf_checkpoint gguf",
            r"in load_gguf_checkpoint|Could not map file path .{0,200}gguf",
        ),
    ),
    judge,
    explains=frozenset({"quant_format_mismatch", "checkpoint_unavailable", "version_mismatch"}),
)
