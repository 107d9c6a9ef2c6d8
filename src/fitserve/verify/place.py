"""Processes, ports and memory, as this machine shows them."""

from __future__ import annotations

from fitserve.plan.plan import Check, CheckState
from fitserve.run import ports as port_table
from fitserve.run.deployment import deployment_dir
from fitserve.run.processes import Identity, is_alive
from fitserve.run.sweep import engine_members
from fitserve.text import tr
from fitserve.units import format_bytes
from fitserve.verify.service import Service
from fitserve.verify.subject import Subject

_ROUNDING = 1.02  # the driver counts in pages of 2 MiB, the log in hundredths of a GiB


def members(subject: Subject) -> tuple[Identity, ...]:
    """The engine's processes that live now."""
    deployment, live = subject.deployment, subject.live
    if deployment is None or live is None:
        return ()
    return engine_members(str(deployment_dir(deployment.name)), live.engine, live.members)


async def processes(subject: Subject, service: Service) -> Check:  # noqa: ARG001 - one shape for all steps
    """Every process that the runner saw still lives, and supervisor calls the runner RUNNING."""
    deployment, live = subject.deployment, subject.live
    if deployment is None or live is None:
        return Check("", CheckState.UNKNOWN, tr("verify.only_here"))
    hint = f"fitserve status {deployment.name}"
    gone = [one.pid for one in (*live.members, *filter(None, (live.runner, live.engine))) if not is_alive(one)]
    word = subject.programs.get(deployment.name, "?")
    if gone:
        evidence = "pid " + ", ".join(map(str, sorted(set(gone))))
        return Check("", CheckState.FAIL, tr("verify.processes_gone", count=len(set(gone))), evidence, hint)
    pids = ", ".join(str(one.pid) for one in members(subject))
    if word != "RUNNING":
        return Check("", CheckState.WARN, tr("verify.runner_not_running", word=word), f"pid {pids}", hint)
    return Check("", CheckState.OK, tr("verify.processes_live", count=len(members(subject))), f"pid {pids}")


async def ports(subject: Subject, service: Service) -> Check:  # noqa: ARG001 - one shape for all steps
    """The API's port belongs to the engine alone; the page's is open where a page is to run."""
    deployment = subject.deployment
    if deployment is None:
        return Check("", CheckState.UNKNOWN, tr("verify.only_here"))
    pids = [one.pid for one in members(subject)]
    alone = port_table.listens_alone(deployment.host, deployment.port, pids)
    hint = f"fitserve status {deployment.name}"
    if alone is not True:
        key = "verify.port_silent" if alone is None else "verify.port_shared"
        who = port_table.holder(deployment.port, pids)
        return Check("", CheckState.FAIL, tr(key, port=deployment.port), who, hint)
    if not deployment.page_port:
        return Check("", CheckState.OK, tr("verify.port_open", port=deployment.port))
    if port_table.is_free("127.0.0.1", deployment.page_port):
        again = f"fitserve page {deployment.name}"
        return Check("", CheckState.FAIL, tr("verify.page_silent", port=deployment.page_port), "", again)
    return Check("", CheckState.OK, tr("verify.ports_open", port=deployment.port, page=deployment.page_port))


async def memory(subject: Subject, service: Service) -> Check:  # noqa: ARG001 - one shape for all steps
    """On every card (on a CPU: all processes together) no more than the ledger's high end."""
    used, allowed = subject.memory(), _allowed(subject)
    if used is None:
        return Check("", CheckState.UNKNOWN, tr("verify.memory_unseen"))
    shown = ", ".join(map(format_bytes, used.cards))
    if allowed is None:
        return Check("", CheckState.UNKNOWN, tr("verify.memory_unplanned", used=shown))
    figures = {"used": shown, "allowed": format_bytes(allowed)}
    if max(used.cards) <= allowed * _ROUNDING:
        return Check("", CheckState.OK, tr("verify.memory_within", **figures))
    if used.with_others:
        return Check("", CheckState.UNKNOWN, tr("verify.memory_mixed", **figures), shown, "nvidia-smi")
    hint = f"fitserve calibrate {subject.deployment.name}" if subject.deployment else ""
    return Check("", CheckState.FAIL, tr("verify.memory_above", **figures), shown, hint)


def _allowed(subject: Subject) -> int | None:
    """The sum of the high ends of all rows that stay, of one rank; on a CPU the ranks share the memory."""
    rows = [row for row in subject.plan.get("ledger") or [] if not row.get("transient") and row["item"] != "reserve"]
    ends: list[int] = [row["high"] for row in rows if row.get("high") is not None]
    if not rows or len(ends) < len(rows):
        return None
    ranks = int(subject.settings.get("tensor_parallel_size", 1)) if subject.on_cpu else 1
    return sum(ends) * ranks
