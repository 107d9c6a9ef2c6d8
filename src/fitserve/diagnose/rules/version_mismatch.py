"""vLLM or Transformers is too old, or too new, for the model.

Sees: «Model architectures [...] are not supported», a model type that Transformers does not recognize, a fall-back to
the Transformers implementation that then fails, config keys or imports that the installed version has not, flags it
lacks.
Why: every architecture exists from one release on (Qwen3.5-MoE: 0.17). A fall-back loads the experts unquantized, so
the memory error that follows is only its consequence.
Disproved by: the architecture in the list of supported ones.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import make, step
from fitserve.diagnose.frames import stage_of_frames
from fitserve.diagnose.oom import find_oom
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding, first
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "version_mismatch"
_FLAG = re.compile(r"(?<!\S)--[\w-]{1,60}")


def judge(case: Case) -> Finding | None:
    newer = [step("newer_engine"), step("newer_transformers")]
    known = early(case, "architecture", "model_type")
    if known is not None:
        return finding(case, CAUSE, Stage.CONFIG, [known], newer)
    fallback = first(case, "transformers_fallback")
    if fallback is not None and _failed_by_it(case):
        return finding(case, CAUSE, Stage.LOAD, [fallback, case.roots[0]], newer[:1], key="version_fallback")
    flag = early(case, "unknown_flag")
    if flag is not None:
        return finding(case, CAUSE, Stage.CONFIG, [flag], _without(flag), key="version_flag")
    other = early(case, "wrong_import", "config_key", "missing_parameter")
    if other is not None and case.roots:
        loading = "parameter named" in other.text or stage_of_frames(case.roots[0]) is Stage.LOAD
        stage = Stage.LOAD if loading else Stage.CONFIG
        return finding(case, CAUSE, stage, [other], newer, confidence=Confidence.MEDIUM)
    return None


def _without(seen: Hit) -> list[Fix | None]:
    flags: dict[str, object] = dict.fromkeys(_FLAG.findall(seen.groups[0] or ""))
    left = make(flags, "unknown_flags", names=", ".join(flags)) if flags else None
    return [left, step("newer_engine"), step("check_flags")]


def _failed_by_it(case: Case) -> bool:
    """Whether what failed can follow from experts that are loaded unquantized by another implementation."""
    oom = find_oom(case)
    loader = {"KeyError", "AttributeError", "NotImplementedError", "TypeError"}
    return bool(case.roots) and (
        case.roots[0].error in loader or (oom is not None and oom.stage in (Stage.LOAD, Stage.PROFILE))
    )


RULE = Rule(
    CAUSE,
    (
        see(
            "architecture",
            "architectures architecture implementation module supported",
            r"Model architectures .{0,200} (?:are not supported|failed (?:to be inspected)?)|"
            r"was supported in vLLM until|"
            r"Unsupported (?:model )?architecture|is not supported in-tree anymore|Cannot find model module|"
            r"Transformers implementation of .{1,80} is not compatible with vLLM",
        ),
        see(
            "model_type",
            "architecture transformers configuration tokenizer newer recent",
            r"does not recognize this architecture|[Tt]ransformers version .{0,40}(?:too old|"
            r"required)|requires transformers|"
            r"requires a (?:newer|more recent) version of|Unrecognized configuration class|"
            r"Tokenizer class \w{1,60} does not exist",
        ),
        see("transformers_fallback", "implementation", r"has no vLLM implementation, falling back to Transformers"),
        see("unknown_flag", "unrecognized", r"error: unrecognized arguments: (.{1,200})"),
        see(
            "wrong_import",
            "import module",
            r"cannot import name '\w{1,80}' from '(?:transformers|vllm|torch|huggingface_hub|tokenizers)|"
            r"No module named '(?:transformers|torch|vllm|tokenizers)\.\w",
        ),
        see(
            "config_key",
            "attribute rope_scaling keyerror rope keyword",
            r"(?:Config|Tokenizer\w{0,4}|Processor)'? (?:object )?has no attribute|assert \"factor\" in rope_scaling|"
            r"rope_scaling`? must (?:be|have)|Unknown RoPE scaling|got an unexpected keyword argument|"
            r"KeyError: '(?:[a-z]{2,20}\d(?:_\d)?\w{0,20}|rope_type|mrope_section)'$",
        ),
        see(
            "missing_parameter",
            "parameter initialized",
            r"no module or parameter named|weights were not initialized from checkpoint",
        ),
    ),
    judge,
    explains=frozenset({"oom_weight_load", "oom_profile_activation"}),
)
