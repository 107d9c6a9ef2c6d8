"""vLLM or Transformers is too old, or too new, for the model.

Sees: «Model architectures [...] are not supported», a model type that Transformers does not recognize, a fall-back to
the Transformers implementation that then fails, config keys or imports that the installed version has not, flags it
lacks.
Why: every architecture exists from one release on (Qwen3.5-MoE: 0.17). A fall-back loads the experts unquantized, so
the memory error that follows is only its consequence.
Disproved by: the architecture in the list of supported ones.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding
from fitserve.diagnose.fixes import step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding, first
from fitserve.stage import Stage

CAUSE = "version_mismatch"


def judge(case: Case) -> Finding | None:
    known = first(case, "architecture", "model_type")
    if known is not None:
        return finding(case, CAUSE, Stage.CONFIG, [known], [step("newer_engine"), step("newer_transformers")])
    fallback = first(case, "transformers_fallback")
    if fallback is not None and case.roots:
        return finding(
            case, CAUSE, Stage.LOAD, [fallback, case.roots[0]], [step("newer_engine")], key="version_fallback"
        )
    flag = first(case, "unknown_flag")
    if flag is not None:
        return finding(case, CAUSE, Stage.CONFIG, [flag], [step("check_flags")], key="version_flag")
    other = first(case, "wrong_import", "config_key", "missing_parameter")
    if other is not None and other.level not in ("INFO", "DEBUG", "WARNING") and case.roots:
        stage = Stage.LOAD if "parameter named" in other.text else Stage.CONFIG
        return finding(
            case,
            CAUSE,
            stage,
            [other],
            [step("newer_engine"), step("newer_transformers")],
            confidence=Confidence.MEDIUM,
        )
    return None


RULE = Rule(
    CAUSE,
    (
        see("architecture", "architectures", r"Model architectures .{0,200} are not supported|failed to be inspected"),
        see(
            "model_type",
            "architecture transformers",
            r"does not recognize this architecture|Transformers version .{0,40} too old|requires transformers",
        ),
        see("transformers_fallback", "implementation", r"has no vLLM implementation, falling back to Transformers"),
        see("unknown_flag", "unrecognized", r"error: unrecognized arguments: (.{1,200})"),
        see(
            "wrong_import",
            "import module",
            r"cannot import name '\w{1,80}' from '(?:transformers|vllm|torch|huggingface_hub)|"
            r"No module named '(?:transformers|torch|vllm)\.\w",
        ),
        see(
            "config_key",
            "attribute rope_scaling keyerror",
            r"Config' object has no attribute|assert \"factor\" in rope_scaling|KeyError: 'qwen\w{1,30}'",
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
