"""The first start of a shape gets less KV cache; it comes back with the next start.

Sees: two starts of the same settings of which the first compiled for long and the second has a larger KV cache.
Why: compilation and kernel tuning leave scratch memory that the profile counts as activation; a warm compile cache
leaves none.
Disproved by: a third start with less again, or settings that changed between them.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Evidence, Finding, Severity
from fitserve.diagnose.fixes import pinned_pool, step
from fitserve.diagnose.rule import Rule, see
from fitserve.stage import Stage
from fitserve.text import tr

CAUSE = "cold_profile_inflation"
_GAIN = 1.02


def judge(case: Case) -> Finding | None:
    before = case.before
    if (
        before is None
        or case.roots
        or (before.settings and case.start.settings and before.settings != case.start.settings)
    ):
        return None
    cold, warm = before.figures.get("available_kv_gib"), case.figure("available_kv_gib")
    if not isinstance(cold, (int, float)) or warm is None or warm < _GAIN * cold or not _was_cold(case):
        return None
    lines = [(before.figure_lines["available_kv_gib"], cold), (case.start.figure_lines["available_kv_gib"], warm)]
    evidence = tuple(Evidence(line, f"Available KV cache memory: {gib} GiB") for line, gib in lines)
    summary = tr("causes.cold_profile_inflation", cold=cold, warm=warm)
    fixes = [step("keep_compile_cache"), pinned_pool(case, int(warm * 0.99 * 2**30))]
    kept = tuple(fix for fix in fixes if fix)
    return Finding(CAUSE, Severity.INFO, Confidence.HIGH, Stage.KV_ALLOC, summary, evidence, kept)


def _was_cold(case: Case) -> bool:
    """The first compiled for long, or the second says that it loaded what was compiled."""
    slow = [case.before.figures.get(name) for name in ("compile_seconds", "profile_seconds")] if case.before else []
    longest = max((float(value) for value in slow if isinstance(value, (int, float))), default=0.0)
    quick = case.figure("compile_seconds")
    return bool(case.hits("compiled_loaded")) or longest > 2 * (quick or 5.0)


_LOADED = see(
    "compiled_loaded", "load loading loaded", r"[Ll]oad(?:ing|ed)? (?:the )?(?:AOT compilation|compiled graph)"
)
RULE = Rule(CAUSE, (_LOADED,), judge)
