"""What the owner's tab shows: the deployments of this machine, and each with its plan beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitserve.cli.shown import plain
from fitserve.cli.status import document as status_document
from fitserve.cli.up_result import compared
from fitserve.errors import NotFound
from fitserve.run.registry import broken
from fitserve.run.view import View, look, look_at_all
from fitserve.text import tr
from fitserve.web.status import ledger, mode, reason

Document = dict[str, object]


def deployments(language: str) -> list[Document]:
    """Every deployment as `status --json` has it, with its state in words."""
    rows: Any = status_document(look_at_all(), broken())["deployments"]
    return [row | {"state_text": tr(f"owner.state_{row['state']}", language)} for row in rows]


def found(name: str) -> View:
    """The deployment as it is now. Raises NotFound."""
    try:
        view = look(name)
    except ValueError as error:
        raise NotFound(tr("run.broken_file"), evidence=str(error), hint="fitserve status") from error
    if view is None:
        raise NotFound(tr("run.no_such", name=plain(name)[:80]), hint="fitserve status")
    return view


def detail(view: View, language: str) -> Document:
    """All that is known of one."""
    deployment, live = view.deployment, view.live
    return {
        "name": deployment.name,
        "state": view.state,
        "state_text": tr(f"owner.state_{view.state}", language),
        "reason": reason(live, language),
        "model": deployment.model,
        "served_name": deployment.served_model_name,
        "engine": deployment.engine,
        "mode_text": tr(f"owner.mode_{mode(view)}", language),
        "url": f"{deployment.url}/v1",
        "page_url": view.page_url,
        "settings": settings(deployment.plan),
        "ledger": ledger(view, language),
        "compared": [
            {
                "item": row.item,
                "text": tr(f"run.item_{row.item}", language),
                "planned": row.planned,
                "measured": row.measured,
            }
            for row in (compared(deployment, live) if live else [])
        ],
        "probe": probe(live.probe if live else {}),
        "changed": [change_row(change) for change in deployment.retry],
        "problems": [plain(problem) for problem in live.problems] if live else [],
    }


def settings(plan: Mapping[str, Any]) -> dict[str, object]:
    """The plan's settings under vLLM's flags."""
    table = plan.get("settings")
    return {"--" + name.replace("_", "-"): value for name, value in table.items()} if isinstance(table, dict) else {}


def probe(table: Mapping[str, Any]) -> Document | None:
    """The last question of fitserve's own to the engine, what came of it, and when (seconds of the wall clock).

    While people ask, none is needed: it may be hours old.
    """
    if not table:
        return None
    said = {key: plain(" ".join(str(table.get(key, "")).split()))[:200] for key in ("question", "answer", "detail")}
    return {"outcome": table.get("outcome"), "seconds": table.get("seconds"), "at": table.get("at"), **said}


def change_row(change: Mapping[str, Any]) -> Document:
    """What `up` changed by itself after a start that failed."""
    return {
        "summary": plain(str(change.get("summary", ""))),
        "why": plain(str(change.get("why", ""))),
        "set": change.get("set"),
    }
