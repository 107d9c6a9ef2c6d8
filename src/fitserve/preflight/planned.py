"""What the plan says: whether it fits, and its own checks that no other line here tells in more detail."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.plan.checks import cards, machine
from fitserve.plan.plan import Check, CheckState, Plan, Verdict
from fitserve.preflight.subject import Subject
from fitserve.text import tr
from fitserve.units import format_bytes

NAME = "memory"
_TOLD_ELSEWHERE = (cards.FREE, cards.DRIVER, machine.SHM, machine.DISK)
_STATES = {Verdict.FITS: CheckState.OK, Verdict.TIGHT: CheckState.WARN, Verdict.DOES_NOT_FIT: CheckState.FAIL}


def check(subject: Subject) -> Iterator[Check]:
    """The verdict on memory, then the plan's checks in its order."""
    hint = f"fitserve plan {subject.model}"
    if problem := subject.problems.get("plan"):
        yield Check(NAME, CheckState.UNKNOWN, problem.message, problem.evidence, problem.hint or hint)
    if subject.plan is None:
        return
    yield _memory(subject.plan, hint)
    for one in subject.plan.checks:
        if one.name not in _TOLD_ELSEWHERE:
            good = one.state is CheckState.OK
            yield one if good else Check(one.name, one.state, one.detail, one.evidence, one.hint or hint)


def _memory(plan: Plan, hint: str) -> Check:
    state = _STATES[plan.verdict]
    if not plan.fits:
        return Check(NAME, state, tr("check.memory_short"), plan.reasons[-1] if plan.reasons else "", hint)
    rows = [row.expected for row in plan.ledger if not row.transient and row.item not in ("reserve", "kv_pool")]
    rest = sum(size for size in rows if size is not None)
    budget = {"need": format_bytes(rest), "budget": format_bytes(plan.budget_bytes)}
    if plan.kv is None or None in rows:
        return Check(NAME, CheckState.UNKNOWN, tr("check.memory_part", **budget), "", hint)
    cache = {"tokens": f"{plan.kv.tokens:,}", "times": f"{plan.kv.concurrency:.2f}"}
    key = "check.memory_tight" if plan.verdict is Verdict.TIGHT else "check.memory_fits"
    return Check(NAME, state, tr(key, **budget, **cache), "", "" if state is CheckState.OK else hint)
