"""The KV cache is full under load: requests are thrown back and computed again, or wait.

Sees: periodic lines with the cache at 95 % or more and requests waiting, «Preemptions: N», «is preempted by».
Why: more requests run than the cache holds; V1 recomputes what it throws out, without a line for each.
Disproved by: a cache usage that stays below 90 % while requests wait (then `max_num_seqs` is the limit).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Evidence, Finding, Severity
from fitserve.diagnose.fixes import fewer_sequences, half_kv, raise_utilization
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding, first
from fitserve.stage import Stage
from fitserve.text import tr

CAUSE = "preemption_kv_pressure"


def judge(case: Case) -> Finding | None:
    seen, periodic = first(case, "preempted"), case.start.periodic
    if seen is None and not periodic.full_and_waiting and not periodic.preemptions:
        return None
    to = max(1, int((periodic.peak_running or 32) * 0.8))
    fixes = [fewer_sequences(case, to, "sequences_that_fit"), raise_utilization(case), half_kv(case)]
    found = finding(case, CAUSE, Stage.SERVE, [seen] if seen else [], fixes, severity=Severity.WARN)
    if seen is not None:
        return found
    line = periodic.full_line or periodic.last_line
    text = tr(
        "causes.periodic", usage=periodic.peak_usage, waiting=periodic.peak_waiting, preemptions=periodic.preemptions
    )
    return Finding(
        CAUSE, Severity.WARN, found.confidence, Stage.SERVE, found.summary, (Evidence(line, text),), found.fixes
    )


RULE = Rule(
    CAUSE,
    (see("preempted", "preempted enough", r"is preempted by|because there is not enough KV cache space"),),
    judge,
    informed=True,
)
