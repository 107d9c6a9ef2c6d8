"""What the runner says of itself: the live state for those who look now, the run record for those who look later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fitserve import __version__
from fitserve.run.deployment import Deployment
from fitserve.run.edges import Edges, Probe
from fitserve.run.live import Evidence, Live, Reason, StageTime, State, live_paths, write_live
from fitserve.run.processes import Identity
from fitserve.run.redact import redacted_argv, redacted_env
from fitserve.stage import Stage


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
            runner=runner,
            failures=before.failures if before else 0,
            answered=before.answered if before else False,
        )

    def change(self, **fields: object) -> None:
        """Write a new moment. A change of state begins a new `since`."""
        now = self._edges.clock.now()
        if fields.get("state", self.live.state) != self.live.state:
            fields["since"] = now
        self.live = replace(self.live, updated=now, problems=self._problems(), **fields)  # type: ignore[arg-type]  # Live's own fields
        problem = write_live(self.live, self._paths)
        if problem != self._unwritten:  # say so on the disk that still takes it
            self._unwritten = problem
            self.live = replace(self.live, problems=self._problems())
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
            fitserve=__version__,
            pid=engine.pid,
            start_ticks=engine.start_ticks,
            boot=engine.boot,
            argv=redacted_argv(deployment.argv),
            env=redacted_env(deployment.env),
            plan=deployment.plan,
        )
        self.change(engine=engine, next_start=0.0, reason=Reason.NONE, detail="", evidence=Evidence())
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
        table: dict[str, object] = {
            "outcome": probe.outcome,
            "question": probe.question,
            "answer": probe.answer,
            "seconds": round(probe.seconds, 3),
            "detail": probe.detail,
        }
        self._edges.journal.write("probe", **table)
        self.change(probe=table)

    def end(self, state: State, reason: Reason, detail: str = "", evidence: Evidence | None = None) -> None:
        """The last word of this runner."""
        evidence = evidence or Evidence()
        self._edges.journal.write(
            "ended", state=state, reason=reason, detail=detail, evidence=evidence.text, line=evidence.line
        )
        stages = () if state is State.STARTING else self.live.stages  # the next start begins at its own first stage
        self.change(
            state=state, reason=reason, detail=detail, evidence=evidence, engine=None, members=(), stages=stages
        )
