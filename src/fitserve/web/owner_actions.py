"""What the owner can do from the page: each is what a command does, by the same code.

That code is imported when it is used: a page that is only talked with starts without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fitserve.chat.said import said
from fitserve.cli.shown import plain
from fitserve.run.control import Control
from fitserve.run.view import View
from fitserve.text import current_language
from fitserve.web.refused import Conflict
from fitserve.web.status_diagnosis import Diagnoses

if TYPE_CHECKING:
    from fitserve.cli.doctor_apply import Prepared
    from fitserve.diagnose.finding import Fix

Document = dict[str, object]


def restart(view: View) -> Document:
    """`fitserve restart NAME`, without the waiting: the tab shows the stages. Raises FitserveError."""
    control, name = Control(), view.deployment.name
    with control.alone(name):
        control.stop(name, with_page=False)
        control.start(view.deployment)
    return {"name": name}


def verify(view: View, tell: Callable[[Document], None]) -> Document:
    """`fitserve verify NAME`, line by line. Raises OperationFailed where it does not answer."""
    return asyncio.run(_verified(view.deployment.name, tell))


async def _verified(name: str, tell: Callable[[Document], None]) -> Document:
    from fitserve.chat.models import with_model
    from fitserve.cli.check_screen import titled
    from fitserve.cli.verify import document
    from fitserve.cli.verify_subject import of_deployment
    from fitserve.verify.verification import verification

    subject = of_deployment(name)
    subject = replace(subject, endpoint=await with_model(subject.endpoint))
    found = []
    async for line in verification(subject):
        found.append(line)
        check = line.check
        row = {
            "name": check.name,
            "text": titled("verify", check.name),
            "state": check.state,
            "seconds": round(line.seconds, 3),
        }
        tell(row | {"detail": plain(check.detail), "evidence": plain(check.evidence)[:600]})
    return document(subject, found)


def chosen_fix(diagnoses: Diagnoses, view: View, number: int, change: str) -> Fix:
    """The fix that the page showed. Raises Conflict where the diagnosis is another by now."""
    from fitserve.cli.doctor_words import change_text

    diagnosis = diagnoses.of(view, current_language())
    fixes = diagnosis.findings[0].fixes if diagnosis and diagnosis.findings else ()
    if not 0 <= number < len(fixes) or change_text(fixes[number]) != change:
        raise Conflict(said("owner.fix_changed"), code="fix_changed", evidence=change)
    return fixes[number]


def preview(view: View, fix: Fix) -> Document:
    """What will change, by a plan made now. Raises DoesNotFit and what else a plan may end with."""
    from fitserve.cli.doctor_apply import prepare

    return _shown(prepare(view.deployment, fix))


def apply_fix(view: View, fix: Fix) -> Document:
    """Plan with the change and start the engine again. Raises FitserveError."""
    from fitserve.cli.doctor_apply import apply, prepare

    prepared = prepare(view.deployment, fix)
    apply(prepared, Control())
    return _shown(prepared)


def _shown(prepared: Prepared) -> Document:
    from fitserve.cli.doctor_words import change_text

    before, after = prepared.deployment.plan, prepared.plan
    return {
        "change": change_text(prepared.fix),
        "why": prepared.fix.why,
        "rows": [vars(row) for row in prepared.rows],
        "verdict": after.get("verdict"),
        "needs_bytes": [_needs(before), _needs(after)],
        "kv_tokens": [_kv(before), _kv(after)],
    }


def _needs(plan: Mapping[str, Any]) -> int | None:
    """What one rank needs inside of its budget; None where a row is not known."""
    from fitserve.plan.ledger import OUTSIDE_BUDGET

    sizes = [
        row.get("expected")
        for row in plan.get("ledger") or []
        if row["item"] not in (*OUTSIDE_BUDGET, "reserve") and not row.get("transient")
    ]
    return None if None in sizes or not sizes else sum(sizes)


def _kv(plan: Mapping[str, Any]) -> int | None:
    return (plan.get("kv") or {}).get("tokens")
