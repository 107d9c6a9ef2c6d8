"""What the runner says of itself: the live state for those who look now, the run record for those who look later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fitserve import __version__
from fitserve.run.deployment import Deployment
from fitserve.run.edges import Edges, Probe
from fitserve.run.live import Evidence, Live, Reason, StageTime, State, live_paths, write_live
from fitserve.run.processes import Identity
from fitserve.run.redact import redacted_argv, redacted_env
from fitserve.stage import Stage

NO_END: dict[str, Any] = {"reason": Reason.NONE, "detail": "", "evidence": Evidence(), "diagnosis": {}}
_NO_FAILURE = (Reason.ASKED, Reason.SUPERVISOR_DIED)  # nothing of the engine's that a doctor could name


class Diary:
    """Holds the present `live` and writes each change of it."""

    def __init__(self, deployment: Deployment, edges: Edges, before: Live | None, runner: Identity | None) -> None:
        self._edges, self._deployment = edges, deployment
        self._paths = live_paths(deployment.name)
        self._started = edges.clock.monotonic()
        self._unwritten = ""  # why a copy of the live state could not be written
        now = edges.clock.now()
        self.problems: Callable[[], tuple[str, ...]] = tuple
        self.live = Live(
            name=deployment.name,
            state=State.STARTING,
            since=now,
            serial=before.serial if before else 0,
            runner=runner,
            failures=before.failures if before else 0,
            orphaned=before.orphaned if before else 0,
            answered=before.answered if before else False,
            **_last_end(before),
        )

    def change(self, **fields: object) -> None:
        """Write a new moment. A change of state begins a new `since`."""
        now = self._edges.clock.now()
        if fields.get("state", self.live.state) != self.live.state:
            fields["since"] = now
        fields |= {"updated": now, "serial": self.live.serial + 1, "problems": self._problems()}
        self.live = replace(self.live, **fields)  # type: ignore[arg-type]  # Live's own fields
        problem = write_live(self.live, self._paths)
        if problem != self._unwritten:  # say so on the disk that still takes it
            self._unwritten = problem
            self.live = replace(self.live, serial=self.live.serial + 1, problems=self._problems())
            write_live(self.live, self._paths)

    def _problems(self) -> tuple[str, ...]:
        return tuple(filter(None, (self._edges.journal.problem, *self.problems(), self._unwritten)))

    def begin(self, engine: Identity) -> None:
        """The engine runs: stage times count from here."""
        deployment = self._deployment
        self._started = self._edges.clock.monotonic()
        self._edges.journal.write(
            "engine_started",
            engine=deployment.engine,
            plan_key=deployment.plan_key,
            retry=deployment.retry,
            fitserve=__version__,
            pid=engine.pid,
            start_ticks=engine.start_ticks,
            boot=engine.boot,
            argv=redacted_argv(deployment.argv),
            env=redacted_env(deployment.env),
            plan=deployment.plan,
        )
        expected = self._edges.past.expected(deployment)
        self.change(engine=engine, expected=expected, held=(), next_start=0.0)
        self.reach(Stage.CONFIG)

    def reach(self, stage: Stage) -> None:
        """A stage begins; an earlier one, or the present one, is no news."""
        now = self.live.stage
        if now is not None and not now.before(stage):
            return
        at_s = round(self._edges.clock.monotonic() - self._started, 3)
        self._edges.journal.write("stage", stage=stage, at_s=at_s)
        self.change(stages=(*self.live.stages, StageTime(stage, at_s)))

    def probed(self, probe: Probe) -> None:
        """A question was asked at the start."""
        self._edges.journal.write("probe", **_table(probe))
        self.glanced(probe)

    def glanced(self, probe: Probe) -> None:
        """A question was asked of an idle engine; recorded only where it proves nothing, for there is one a minute."""
        if not probe.proves and self.live.state is not State.STARTING:
            self._edges.journal.write("probe", **_table(probe))
        self.change(probe=_table(probe) | {"at": self._edges.clock.now()}, probes=self.live.probes + 1)

    def end(self, state: State, reason: Reason, detail: str = "", evidence: Evidence | None = None) -> None:
        """The last word of this runner, with the doctor's where it failed."""
        evidence = evidence or Evidence()
        ended: dict[str, Any] = {"state": state, "reason": reason, "detail": detail, "evidence": evidence}
        diagnosis = self._diagnosed(ended) if reason not in _NO_FAILURE else {}
        self._edges.journal.write(
            "ended",
            state=state,
            reason=reason,
            detail=detail,
            evidence=evidence.text,
            line=evidence.line,
            diagnosis=diagnosis,
        )
        stages = () if state is State.STARTING else self.live.stages  # the next start begins at its own first stage
        self.change(**ended, diagnosis=diagnosis, engine=None, members=(), stages=stages)

    def _diagnosed(self, ended: dict[str, Any]) -> dict[str, object]:
        """The doctor's word on this end; its own faults must not cost us ours."""
        try:
            return self._edges.doctor.diagnose(self._deployment, replace(self.live, **ended | {"state": State.FAILED}))
        except Exception as error:  # noqa: BLE001 - an end is told, diagnosed or not
            return {"cause": "unknown", "problem": f"{type(error).__name__}: {error}"}


def _last_end(before: Live | None) -> dict[str, Any]:
    """Why it is started again: told until it answers."""
    return {name: getattr(before, name) for name in NO_END} if before and before.failures else {}


def _table(probe: Probe) -> dict[str, object]:
    return {
        "outcome": probe.outcome,
        "question": probe.question,
        "answer": probe.answer,
        "seconds": round(probe.seconds, 3),
        "detail": probe.detail,
    }
