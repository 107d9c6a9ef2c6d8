"""What is true of a deployment now: its live state, held against the processes that really run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fitserve.run.deployment import Deployment
from fitserve.run.live import Live, Reason, State, read_live
from fitserve.run.ports import holder
from fitserve.run.processes import boot_id, is_alive
from fitserve.run.registry import PAGE_PREFIX, load, names
from fitserve.run.supervisor import STOPPED_STATES, Supervisor
from fitserve.text import tr

_LIVELY = (State.STARTING, State.ANSWERING, State.HUNG)


@dataclass(frozen=True)
class View:
    """A deployment as `status` shows it. `live` is None where it never ran."""

    deployment: Deployment
    live: Live | None
    state: State
    page_runs: bool

    @property
    def runs(self) -> bool:
        """Whether it is up, or on its way."""
        return self.state in _LIVELY

    @property
    def page_url(self) -> str | None:
        """Where the page is; None where it does not run."""
        return self.deployment.page_url if self.page_runs else None


def look(name: str, supervisor: Supervisor | None = None) -> View | None:
    """The deployment as it is now; None where there is none. Raises ValueError where its file is broken."""
    deployment = load(name)
    return _view(deployment, (supervisor or Supervisor()).states()) if deployment else None


def look_at_all(supervisor: Supervisor | None = None) -> tuple[View, ...]:
    """Every deployment whose file can be read."""
    programs = (supervisor or Supervisor()).states()
    found = []
    for name in names():
        try:
            deployment = load(name)
        except ValueError:
            continue
        if deployment:
            found.append(_view(deployment, programs))
    return tuple(found)


def port_holder(port: int, views: Sequence[View]) -> str:
    """Who has the port, for the evidence: a deployment or its page by name, and the process; "" where none is seen."""
    api = [tr("run.holder_api", name=one.deployment.name) for one in views if one.runs and one.deployment.port == port]
    page = [
        tr("run.holder_page", name=one.deployment.name)
        for one in views
        if one.page_runs and one.deployment.page_port == port
    ]
    return " · ".join(filter(None, (*api, *page, holder(port))))


def _view(deployment: Deployment, programs: dict[str, str]) -> View:
    program = programs.get(deployment.name, "STOPPED")
    live = true_live(read_live(deployment.name), program)
    if live is None and program not in STOPPED_STATES:
        live = Live(deployment.name, State.STARTING)  # its runner has not said anything yet
    page = programs.get(PAGE_PREFIX + deployment.name, "STOPPED") not in STOPPED_STATES
    return View(deployment, live, live.state if live else State.STOPPED, page)


def true_live(live: Live | None, program: str | None) -> Live | None:
    """The live state, corrected where its runner is gone. `program` is supervisor's word for the runner's state."""
    if live is None or live.state not in _LIVELY or is_alive(live.runner):
        return live
    if program is not None and program not in STOPPED_STATES:
        return replace(live, state=State.STARTING, engine=None, stages=())  # the next runner is about to be started
    if live.runner is not None and live.runner.boot != boot_id():
        return replace(live, state=State.STOPPED, engine=None)  # the machine was restarted
    return replace(live, state=State.FAILED, reason=Reason.RUNNER_DIED)
