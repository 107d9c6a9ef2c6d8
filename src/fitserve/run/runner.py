"""The runner: one supervised process that owns one engine, from its start to the last of its processes."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading

from fitserve.run import ports
from fitserve.run.deployment import Deployment, deployment_dir, engine_log
from fitserve.run.diary import NO_END, Diary
from fitserve.run.drain import Drain
from fitserve.run.edges import Edges, Outcome, Probe
from fitserve.run.engine_log import EngineLog
from fitserve.run.engine_process import EngineProcess
from fitserve.run.evidence import Witness, clean
from fitserve.run.exits import Exit
from fitserve.run.live import Evidence, Live, Reason, State
from fitserve.run.processes import Identity
from fitserve.run.pulse import Pulse
from fitserve.run.running import Running
from fitserve.run.shared_memory import SharedMemory
from fitserve.run.signals import Event, Gone, Health, PortLost, Probed, Reached, StopAsked
from fitserve.run.sockets import clear_sockets, with_sockets
from fitserve.run.sweep import end, engine_members
from fitserve.stage import Stage

_BACKOFF_LIMIT_S = 60.0


class Runner:
    """Starts the engine, watches it, ends it. `run` returns the exit code for supervisor."""

    def __init__(self, deployment: Deployment, edges: Edges, before: Live | None, me: Identity | None) -> None:
        self._deployment, self._edges, self._before = deployment, edges, before
        self._policy = deployment.policy
        self._mark = str(deployment_dir(deployment.name))
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._diary = Diary(deployment, edges, before, me)
        self._witness = Witness()
        self._log = EngineLog(engine_log(deployment.name), self._policy.log_bytes, self._policy.log_keep, edges.clock)
        self._diary.problems = lambda: (self._log.problem, edges.samples.problem)
        self._misses = 0
        self._hung_at = 0.0
        self._answering_at: float | None = None

    def stop(self, reason: Reason = Reason.ASKED) -> None:
        """Ask the runner to end; may be called from a signal handler."""
        self._events.put(StopAsked(reason))

    def run(self) -> Exit:
        """From sweep to the end."""
        self._sweep()
        if self._died_before():
            return self._give_up(Reason.TOO_MANY, "")
        if asked := self._waited_back_off():
            return self._stopped(None, asked.reason)
        if not ports.is_free(self._deployment.host, self._deployment.port):
            holder = Evidence(ports.holder(self._deployment.port))
            return self._give_up(Reason.PORT_IN_USE, str(self._deployment.port), holder)
        with ports.claimed(self._deployment.host, self._deployment.port):
            return self._lived()

    def _lived(self) -> Exit:
        """One engine's whole life."""
        try:
            running = self._start()
        except OSError as error:
            return self._give_up(Reason.ENGINE_MISSING, f"{self._deployment.argv[0]}: {error.strerror}")
        try:
            return self._watch(running)
        except BaseException:  # a fault of ours must not leave an engine without its owner
            running.engine.end(self._policy.stop_wait_s, self._edges.clock, self._diary.live.members)
            clear_sockets(self._deployment.name)
            raise

    # before the start

    def _sweep(self) -> None:
        """End what an earlier runner of this deployment left when it was killed."""
        before = self._before
        if before is None or before.engine is None:
            return
        left = engine_members(self._mark, before.engine, before.members)
        killed = end(left, self._policy.stop_wait_s, self._edges.clock)
        if left:
            self._edges.journal.write("swept", pids=[one.pid for one in left], killed=[one.pid for one in killed])

    def _died_before(self) -> bool:
        """Count a runner that ended without a word; True when that was one too many."""
        before = self._before
        if before is None or before.state in {State.STOPPED, State.FAILED} or before.engine is None:
            return False
        failures = self._diary.live.failures + 1
        self._edges.journal.write("runner_died", failures=failures)
        self._diary.change(failures=failures, reason=Reason.RUNNER_DIED)
        return failures >= self._policy.failures_allowed

    def _waited_back_off(self) -> StopAsked | None:
        """Wait before a start that follows a failure; ends early when asked to stop meanwhile."""
        failures = self._diary.live.failures
        if failures == 0:
            self._diary.change()
            return None
        wait_s = min(self._policy.backoff_s * 2 ** (failures - 1), _BACKOFF_LIMIT_S)
        self._edges.journal.write("back_off", seconds=wait_s, failures=failures)
        self._diary.change(next_start=self._edges.clock.now() + wait_s)
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=wait_s)
            return event if isinstance(event, StopAsked) else None
        return None

    def _start(self) -> Running:
        gpu_before = self._edges.gpu.used_bytes()
        self._log.start()
        deployment = self._deployment
        env, shared = with_sockets(deployment.name, deployment.env), SharedMemory()
        engine = EngineProcess(deployment.argv, env, self._mark, deployment_dir(deployment.name))
        self._diary.begin(engine.identity)
        drain = Drain(engine.output, self._log, self._read)
        edges = self._edges
        pulse = Pulse(
            self._deployment,
            edges.prober,
            edges.clock,
            lambda: self._listens(engine),
            self._events.put,
            self._sample,
        )
        waiter = threading.Thread(target=lambda: self._events.put(Gone(engine.process.wait())), daemon=True)
        for thread in (drain, waiter, pulse):
            thread.start()
        return Running(engine, drain, pulse, gpu_before, shared)

    def _read(self, line: str) -> None:
        """Every line of the engine, on the draining thread."""
        self._witness.feed(line)
        stage = self._edges.lines.feed(line)
        if stage is not None and stage.before(Stage.CLIENT):
            self._events.put(Reached(stage))

    def _listens(self, engine: EngineProcess) -> bool | None:
        """Whether our engine has the port; None while nobody has."""
        pids = [member.pid for member in engine.members()]
        return ports.listens_alone(self._deployment.host, self._deployment.port, pids)

    def _sample(self, good: bool) -> None:
        """On the pulse's thread, where it may take its time."""
        pids = [member.pid for member in self._diary.live.members]
        self._edges.samples.add(State.ANSWERING if good else State.HUNG, pids)

    # while it runs

    def _watch(self, running: Running) -> Exit:
        while True:
            ended = self._handle(self._events.get(), running)
            if ended is not None:
                return ended

    def _handle(self, event: Event, running: Running) -> Exit | None:
        """Take in one event; the exit code where it was the last."""
        match event:
            case StopAsked(reason):
                return self._stopped(running, reason)
            case Gone(code):
                return self._engine_gone(running, code)
            case PortLost():
                return self._port_lost(running)
            case Probed(probe, last):
                return self._probed(running, probe, last)
            case Reached(stage):
                self._diary.reach(stage)
                self._diary.change(members=running.members())
            case Health(good, probe):
                if probe is not None:
                    self._diary.glanced(probe)
                return self._looked(running, good)
        return None

    def _probed(self, running: Running, probe: Probe, last: bool) -> Exit | None:
        self._diary.probed(probe)
        if probe.proves:
            self._answering(running)
        elif last:
            return self._unproved(running, probe)
        return None

    def _answering(self, running: Running) -> None:
        self._answering_at = self._edges.clock.monotonic()
        self._diary.reach(Stage.SERVE)
        self._diary.reach(Stage.ANSWERING)
        members = running.members()
        pids = tuple(member.pid for member in members)
        measured = self._edges.meter.measure(self._deployment, pids, self._edges.lines.figures())
        self._edges.journal.write("measured", **measured)
        self._diary.change(state=State.ANSWERING, answered=True, members=members, measured=measured, **NO_END)

    def _looked(self, running: Running, good: bool) -> Exit | None:
        """A look at the engine: hung after several misses in a row, well again after one good look."""
        self._misses = 0 if good else self._misses + 1
        running.engine.reap()
        running.members()
        if self._diary.live.failures and self._stable():
            self._diary.change(failures=0, orphaned=0)
        state = self._diary.live.state
        if self._misses >= self._policy.health_misses and state is State.ANSWERING:
            self._hung_at = self._edges.clock.monotonic()
            self._edges.journal.write("hung", misses=self._misses)
            self._diary.change(state=State.HUNG)
        elif good and state is State.HUNG:
            self._edges.journal.write("answers_again")
            self._diary.change(state=State.ANSWERING)
        elif state is State.HUNG and self._edges.clock.monotonic() - self._hung_at > self._policy.hung_wait_s:
            self._end_engine(running)
            return self._failed(Reason.HUNG, f"{self._policy.hung_wait_s:g}")
        return None

    def _stable(self) -> bool:
        since = self._answering_at
        return since is not None and self._edges.clock.monotonic() - since >= self._policy.stable_s

    def _one_more(self, so_far: int) -> int:
        """How many in a row, with the present one; a stable time begins them anew."""
        return 1 if self._stable() else so_far + 1

    # ends

    def _stopped(self, running: Running | None, reason: Reason) -> Exit:
        if running:
            self._end_engine(running)
        orphaned = self._one_more(self._diary.live.orphaned)
        if reason is Reason.SUPERVISOR_DIED and orphaned < self._policy.failures_allowed:
            self._diary.change(orphaned=orphaned)
            self._diary.end(State.STARTING, reason)
            return Exit.RESTART
        self._diary.end(State.STOPPED, reason)
        return Exit.STOPPED

    def _engine_gone(self, running: Running, code: int) -> Exit:
        self._end_engine(running)
        detail = f"exit {code}" if code >= 0 else f"signal {-code} ({_signal_name(-code)})"
        return self._failed(Reason.ENGINE_DIED, detail)

    def _port_lost(self, running: Running) -> Exit:
        """Between our look at the port and the engine's, somebody else took it."""
        ours = [member.pid for member in running.engine.members()]
        holder = Evidence(ports.holder(self._deployment.port, ours))
        self._end_engine(running)
        return self._give_up(Reason.PORT_IN_USE, str(self._deployment.port), holder)

    def _unproved(self, running: Running, probe: Probe) -> Exit:
        self._end_engine(running)
        wrong = probe.outcome is Outcome.WRONG
        said = Evidence(clean(" ".join((probe.answer if wrong else probe.detail).split())))
        return self._failed(Reason.WRONG_ANSWER if wrong else Reason.NO_ANSWER, probe.question, said)

    def _failed(self, reason: Reason, detail: str, evidence: Evidence | None = None) -> Exit:
        """Another start helps only what has answered before, and not for ever."""
        live = self._diary.live
        failures = self._one_more(live.failures)
        self._diary.change(failures=failures)
        evidence = evidence or self._witness.best
        if live.answered and failures < self._policy.failures_allowed:
            self._diary.end(State.STARTING, reason, detail, evidence)
            return Exit.RESTART
        return self._give_up(reason, detail, evidence)

    def _give_up(self, reason: Reason, detail: str, evidence: Evidence | None = None) -> Exit:
        self._diary.end(State.FAILED, reason, detail, evidence)
        return Exit.GAVE_UP

    def _end_engine(self, running: Running) -> None:
        edges = self._edges
        ending = running.end(self._deployment, self._diary.live.members, edges.gpu, edges.clock)
        self._log.close()
        self._edges.journal.write(
            "engine_ended",
            killed=ending.killed,
            shared_memory=ending.shared_memory,
            gpu_memory_back="unknown" if ending.memory_back is None else ending.memory_back,
            gpu_wait_s=ending.wait_s,
            gpu_holders=ending.held,
        )
        self._diary.change(held=ending.held)


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "?"
