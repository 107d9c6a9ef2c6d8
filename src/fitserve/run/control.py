"""Starting and stopping a deployment from outside, for every surface alike."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from fitserve.clock import Clock, SystemClock
from fitserve.errors import FitserveError, OperationFailed
from fitserve.paths import state_dir
from fitserve.run.deployment import Deployment, deployment_dir
from fitserve.run.live import Live, Reason, State, forget_live, live_paths, read_live, rest_live, write_live
from fitserve.run.lock import Locked, held
from fitserve.run.processes import is_alive
from fitserve.run.registry import PAGE_PREFIX, save
from fitserve.run.sockets import clear_sockets
from fitserve.run.supervisor import STOPPED_STATES, Supervisor
from fitserve.run.supervisor_conf import Program, page_argv, runner_argv
from fitserve.run.sweep import end, engine_members
from fitserve.text import tr

_PATIENCE_S = 200.0  # another command may be stopping it


class Control:
    """The commands on deployments."""

    def __init__(self, supervisor: Supervisor | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.supervisor = supervisor or Supervisor(self.clock)

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Hold the deployment against other commands. Raises OperationFailed where one takes too long."""
        try:
            with held(deployment_dir(name) / "control.lock", _PATIENCE_S, self.clock):
                yield
        except Locked:
            raise OperationFailed(tr("run.busy", name=name), hint="fitserve status") from None
        except FitserveError:
            raise
        except OSError as error:
            evidence = f"{error.filename or deployment_dir(name)}: {error.strerror}"
            raise OperationFailed(tr("run.state_unwritable"), code="state_unwritable", evidence=evidence) from error

    @contextlib.contextmanager
    def choosing_ports(self) -> Iterator[None]:
        """Hold every other start back, from the choice of free ports until the supervisor knows who has them."""
        with held(state_dir() / "ports.lock", _PATIENCE_S, self.clock):
            yield

    def start(self, deployment: Deployment) -> None:
        """Freeze it and have its runner started; returns before the engine answers. Call it `alone`."""
        save(deployment)
        forget_live(deployment.name)
        folder = deployment_dir(deployment.name)
        log = folder / "logs" / "runner.log"
        self.supervisor.start(Program(deployment.name, runner_argv(deployment.name), folder, log))

    def start_page(self, deployment: Deployment, language: str) -> None:
        """Have its chat page started."""
        folder = deployment_dir(deployment.name)
        name = PAGE_PREFIX + deployment.name
        env = {"FITSERVE_LANG": language}
        self.supervisor.start(Program(name, page_argv(deployment.name), folder, folder / "logs" / "page.log", env))

    def revive(self, name: str) -> bool:
        """After the supervisor's death: have it, and its page, looked after again. Whether that was left to us.

        Where another command works on the deployment, that one knows better what it is to become.
        """
        try:
            with held(deployment_dir(name) / "control.lock", clock=self.clock):
                for program in (name, PAGE_PREFIX + name):
                    self.supervisor.resume(program)
        except (Locked, OSError, FitserveError):
            self._settle(name, Reason.SUPERVISOR_DIED)
            return False
        return True

    def stop(self, name: str, *, with_page: bool = True) -> bool:
        """Stop it, to the last process and port. Returns whether anything ran. Call it `alone`."""
        before = read_live(name)
        ran = before is not None and is_alive(before.runner)
        if with_page:
            ran |= self._stop_page(name)
        ran |= self._runs(name)
        self.supervisor.stop(name)
        ran |= self._end_strays(name)
        self.supervisor.forget(name)
        rest_live(name)
        return ran

    def seems_to_run(self, name: str) -> bool:
        """Whether something of it is there to be stopped, at a glance."""
        live = read_live(name)
        return (live is not None and is_alive(live.runner)) or self._runs(name) or self._runs(PAGE_PREFIX + name)

    def _stop_page(self, name: str) -> bool:
        page = PAGE_PREFIX + name
        ran = self._runs(page)
        self.supervisor.stop(page)
        self.supervisor.forget(page)
        return ran

    def _runs(self, program: str) -> bool:
        return self.supervisor.states().get(program, "STOPPED") not in STOPPED_STATES

    def _end_strays(self, name: str) -> bool:
        """A runner that no supervisor knows any more, and what a killed runner left."""
        live = read_live(name)
        if live is None:
            return False
        runner = [live.runner] if live.runner and is_alive(live.runner) else []
        end(runner, 150.0, self.clock)
        left = engine_members(str(deployment_dir(name)), live.engine, live.members)
        end(left, 20.0, self.clock)
        clear_sockets(name)
        self._settle(name)
        return bool(runner or left)

    def _settle(self, name: str, reason: Reason = Reason.ASKED) -> None:
        """A runner that was killed left a state that is no longer true."""
        live = read_live(name)
        if live and live.state not in (State.STOPPED, State.FAILED):
            write_live(_stopped(live, self.clock.now(), reason), live_paths(name))


def _stopped(live: Live, now: float, reason: Reason) -> Live:
    moment = {"serial": live.serial + 1, "updated": now, "since": now}
    return replace(live, state=State.STOPPED, reason=reason, engine=None, members=(), failures=0, **moment)  # type: ignore[arg-type]  # Live's own fields
