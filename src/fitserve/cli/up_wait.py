"""Waiting until a start answers, or telling why it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitserve.cli.up_screen import Screen, stage_text
from fitserve.errors import FitserveError, OperationFailed, TimedOut
from fitserve.run.follow import FINAL, follow
from fitserve.run.live import Live, Reason, State
from fitserve.run.ports import next_free
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.run.control import Control


def wait_until_answering(name: str, control: Control, timeout_s: float, shown: Screen) -> Live:
    """The moment at which it answered. Raises OperationFailed or TimedOut; what runs then is the caller's to stop."""
    last: Live | None = None
    for last in follow(name, control.supervisor, control.clock, timeout_s):
        shown.show(last)
    if last is None or last.state not in FINAL:
        raise _timed_out(name, last, timeout_s)
    if last.state is State.ANSWERING:
        return last
    raise failure(last)


def failure(live: Live) -> FitserveError:
    """Why a start ended, with the line that shows it and what to type next."""
    code = live.reason or "failed"
    message = tr("run.start_failed", name=live.name, reason=reason_text(live))
    hint = f"fitserve logs {live.name}" if live.evidence.line == 0 else f"fitserve doctor {live.name}"
    if live.reason is Reason.ASKED:  # somebody took it down meanwhile: there is nothing to look for
        hint = f"fitserve up {live.name}"
    if live.reason is Reason.PORT_IN_USE:
        hint = f"fitserve up {live.name} --port {next_free('127.0.0.1', int(live.detail) + 1) or '…'}"
    return OperationFailed(message, code=code, evidence=evidence_text(live), hint=hint)


def reason_text(live: Live) -> str:
    """The reason as a sentence without its end."""
    if live.reason is Reason.NONE:
        return tr(f"run.state_{live.state}")
    stage = stage_text(live.stage) if live.stage else tr("run.stage_config")
    return tr(live.reason_key, detail=live.detail, stage=stage, failures=live.failures)


def evidence_text(live: Live) -> str:
    """The line of the log, and where it stands."""
    if live.evidence.line:
        return tr("run.evidence_at", text=live.evidence.text, file="engine.log", line=live.evidence.line)
    return live.evidence.text


def _timed_out(name: str, live: Live | None, timeout_s: float) -> TimedOut:
    stage = stage_text(live.stage) if live and live.stage else "-"
    message = tr("run.timed_out", name=name, seconds=f"{timeout_s:g}")
    return TimedOut(message, evidence=tr("run.timed_out_at", stage=stage), hint=f"fitserve logs {name}")
