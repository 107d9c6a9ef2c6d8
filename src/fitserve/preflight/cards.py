"""The cards, who holds their memory, and the driver."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.plan.checks.cards import DRIVER
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.subject import Subject
from fitserve.run.edges import Holder
from fitserve.run.holders import named
from fitserve.run.processes import MARK
from fitserve.text import tr
from fitserve.units import GIB, format_bytes

_HELD = GIB // 2  # a driver's and a desktop's own share stays below
_LOOK = "fitserve inspect gpus"


def check(subject: Subject) -> Iterator[Check]:
    """A line a card, then the driver."""
    cards = subject.cards
    if isinstance(cards, GpusUnknown):
        for name in ("gpus", DRIVER):
            yield Check(name, CheckState.UNKNOWN, cards.reason, cards.evidence, _LOOK)
        return
    if not cards:
        yield _none(subject)
        return
    for card in cards:
        yield _card(card, subject.ours)
    yield _driver(subject, cards)


def _none(subject: Subject) -> Check:
    """No card is fine for an engine that computes on the processor."""
    engine = subject.engine
    if engine and engine.device == "cuda":
        return Check("gpus", CheckState.FAIL, tr("check.gpus_needed", engine=engine.name), "", _LOOK)
    if engine:
        return Check("gpus", CheckState.OK, tr("check.gpus_not_needed"))
    return Check("gpus", CheckState.UNKNOWN, tr("check.gpus_none"), "", _LOOK)


def _card(card: Gpu, ours: frozenset[int]) -> Check:
    name = f"gpu_{card.index}"
    total = format_bytes(card.total_bytes)
    if card.free_bytes is None:
        return Check(name, CheckState.UNKNOWN, tr("check.gpu_unread", card=card.name, total=total), "", _LOOK)
    others = [process for process in card.processes if process.pid not in ours]
    own = sum(process.used_bytes or 0 for process in card.processes if process.pid in ours)
    held = card.total_bytes - card.free_bytes - own
    said = tr("check.gpu_held", card=card.name, held=format_bytes(max(0, held)), total=total)
    if own or len(others) < len(card.processes):
        said += " " + tr("check.gpu_own")
    who = "; ".join(_holder(Holder(process.pid, process.used_bytes)) for process in others)
    if held <= _HELD:
        return Check(name, CheckState.OK, said, who)
    return Check(name, CheckState.WARN, said, who or tr("check.gpu_hidden"), _next(others[0].pid if others else None))


def _holder(holder: Holder) -> str:
    """`python (pid 4711, alice, since 11-30 12:01, 3.20 GiB)`."""
    (told,) = named([holder])
    since = told["since"]
    parts = [f"pid {holder.pid}", str(told["owner"] or "?")]
    if isinstance(since, float):
        parts.append(tr("check.since", when=time.strftime("%m-%d %H:%M", time.localtime(since))))
    if holder.used_bytes is not None:
        parts.append(format_bytes(holder.used_bytes))
    return f"{told['process'] or '?'} ({', '.join(parts)})"


def _next(pid: int | None) -> str:
    """Another deployment of ours can be stopped by its name; anybody else's process is only shown."""
    if pid is None:
        return "nvidia-smi"
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a kernel's file, read once
            marks = [part for part in file.read().split(b"\0") if part.startswith(f"{MARK}=".encode())]
    except OSError:
        marks = []
    if marks:
        return f"fitserve down {marks[0].decode(errors='replace').rpartition('/')[2]}"
    return f"ps -o pid,user,lstart,args -p {pid}"


def _driver(subject: Subject, cards: tuple[Gpu, ...]) -> Check:
    """As the plan judges it; the version is shown where it has nothing against it."""
    said = [one for one in (subject.plan.checks if subject.plan else ()) if one.name == DRIVER]
    if said:
        return said[0]
    versions = sorted({card.driver for card in cards if card.driver})
    if not versions:
        return Check(DRIVER, CheckState.UNKNOWN, tr("check.driver_unread"), "", _LOOK)
    state = CheckState.OK if subject.plan else CheckState.UNKNOWN
    return Check(DRIVER, state, tr("check.driver", version=", ".join(versions)))
