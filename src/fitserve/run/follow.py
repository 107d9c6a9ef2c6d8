"""Following a start to its end, from outside of the runner."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.clock import Clock
from fitserve.run.deployment import deployment_dir
from fitserve.run.evidence import clean
from fitserve.run.live import Evidence, Live, Reason, State, read_live
from fitserve.run.supervisor import STOPPED_STATES, Supervisor
from fitserve.run.view import true_live

_POLL_S = 0.1
_ASK_SUPERVISOR_S = 1.0
FINAL = (State.ANSWERING, State.FAILED, State.STOPPED)


def follow(name: str, supervisor: Supervisor, clock: Clock, timeout_s: float) -> Iterator[Live]:
    """Every new moment of a start, the final one last. Ends without a final one when the time is up."""
    deadline = clock.monotonic() + timeout_s
    asked_at = clock.monotonic()
    shown: Live | None = None
    while clock.monotonic() < deadline:
        live = read_live(name)
        if clock.monotonic() - asked_at > _ASK_SUPERVISOR_S:
            asked_at = clock.monotonic()
            live = _checked(name, live, supervisor.states().get(name))
        if live and live != shown:
            shown = live
            yield live
            if live.state in FINAL:
                return
        clock.sleep(_POLL_S)


def _checked(name: str, live: Live | None, program: str | None) -> Live | None:
    """The live state, or the end of a runner that died without a word."""
    gone = program is None or program in STOPPED_STATES
    if live is None and gone:
        return Live(name, State.FAILED, reason=Reason.RUNNER_DIED, evidence=_last_words(name))
    checked = true_live(live, program)
    if checked and checked.reason is Reason.RUNNER_DIED and checked.state is State.FAILED:
        fresh = read_live(name)  # its last word may have come in between
        return fresh if fresh and fresh.state in FINAL else checked
    return checked


def _last_words(name: str) -> Evidence:
    path = deployment_dir(name) / "logs" / "runner.log"
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return next((Evidence(clean(line), 0) for line in reversed(lines) if line.strip()), Evidence())
