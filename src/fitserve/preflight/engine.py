"""Does the engine work: its interpreter answers, and its own parser takes the plan's flags?"""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.engines.accepts import accepts
from fitserve.engines.examine import examine
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.subject import Subject
from fitserve.text import tr

ANSWERS, TAKES = "engine", "settings_known"


def check(subject: Subject) -> Iterator[Check]:
    """Without an engine both are unknown: `up` offers to install one."""
    engine = subject.engine
    if engine is None:
        yield _missing(subject)
        if subject.plan:
            yield Check(TAKES, CheckState.UNKNOWN, tr("check.settings_no_engine"))
        return
    now = examine(engine.python, quick=True)
    if now.engine is None:
        yield Check(ANSWERS, CheckState.FAIL, tr("check.engine_silent"), now.problem or str(engine.python), _LIST)
        return
    facts = {"name": engine.name, "version": now.version or "?", "torch": engine.torch or "?", "device": engine.device}
    yield Check(ANSWERS, CheckState.OK, tr("check.engine_answers", **facts), str(engine.python))
    if subject.plan:
        yield _takes(subject)


_LIST = "fitserve engine list"


def _missing(subject: Subject) -> Check:
    problem = subject.problems.get("engine")
    if problem is None:
        return Check(ANSWERS, CheckState.UNKNOWN, tr("check.engine_none"), "", _LIST)
    state = CheckState.FAIL if problem.code == "engine_broken" else CheckState.UNKNOWN
    return Check(ANSWERS, state, problem.message, problem.evidence, problem.hint)


def _takes(subject: Subject) -> Check:
    engine, plan = subject.engine, subject.plan
    assert engine is not None
    assert plan is not None
    hint = f"fitserve plan {subject.model}"
    if subject.quick:
        return Check(TAKES, CheckState.UNKNOWN, tr("check.settings_left_out"), "", f"fitserve check {subject.model}")
    answer = accepts(engine.python, plan.command, lambda: subject.say(tr("check.asking_engine")))
    if answer.refusal is None:
        return Check(TAKES, CheckState.UNKNOWN, tr("check.settings_not_asked"), answer.problem, _LIST)
    if answer.refusal:
        return Check(TAKES, CheckState.FAIL, tr("check.settings_refused"), answer.refusal, hint)
    flags = sum(word.startswith("--") for word in plan.command)
    return Check(TAKES, CheckState.OK, tr("check.settings_taken", flags=flags, version=engine.version or "?"))
