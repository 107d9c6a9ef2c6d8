"""The model brings its own code, and nobody has allowed it to run.

Sees: «requires you to execute the configuration file in that repo», «contains custom code which must be executed».
Why: Transformers does not run a repository's Python files unasked. A wrapper may pass the flag to the engine and not
to the tokenizer; without a terminal the question ends as EOFError.
Disproved by: an architecture that vLLM has itself (Qwen3.5 has): then the flag is not needed.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding
from fitserve.diagnose.fixes import make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding
from fitserve.stage import Stage

CAUSE = "remote_code_required"


def judge(case: Case) -> Finding | None:
    seen = early(case, "remote_code")
    if seen is None:
        return None
    if case.settings.get("--trust-remote-code") is True:
        return finding(case, CAUSE, Stage.CONFIG, [seen], [step("newer_engine")])
    return finding(
        case, CAUSE, Stage.CONFIG, [seen], [make({"--trust-remote-code": True}, "trust_code"), step("newer_engine")]
    )


_SHAPE = (
    r"requires you to execute the \w{1,30} file|contains custom code which must be executed|"
    r"(?:set|pass|passing).{0,40}`?trust[_-]remote[_-]code"
)
RULE = Rule(
    CAUSE,
    (see("remote_code", "execute executed trust_remote_code trust", _SHAPE),),
    judge,
    frozenset({"checkpoint_unavailable"}),
)
