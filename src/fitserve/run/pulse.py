"""Waits until the engine's door opens, asks until it answers, then looks in from time to time; in a thread of its own,
because each of these may hang for as long as the engine does."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fitserve.clock import Clock
from fitserve.run.deployment import Deployment
from fitserve.run.edges import Outcome, Probe, Prober
from fitserve.run.idle import Idle
from fitserve.run.signals import Event, Health, PortLost, Probed
from fitserve.run.stall import Progress, Stall


class Pulse(threading.Thread):
    """Tells `tell` of every probe and every look."""

    def __init__(
        self,
        deployment: Deployment,
        prober: Prober,
        clock: Clock,
        is_ours: Callable[[], bool | None],
        tell: Callable[[Event], None],
        keep: Callable[[bool], None],
    ) -> None:
        """`is_ours`: whether it is our engine that listens on the port; None while nobody does.

        `keep` is called after each look at an engine that answered, with what the look found.
        """
        super().__init__(name="pulse", daemon=True)
        self._clock, self._is_ours = clock, is_ours
        self._deployment, self._prober, self._tell, self._keep = deployment, prober, tell, keep
        self._ended = threading.Event()

    def end(self) -> None:
        """Ask it to end; a question in flight is left to its own time limit."""
        self._ended.set()

    def run(self) -> None:
        """Door, proof, then health until the end."""
        if self._opened() and self._proved():
            self._look_in()

    def _opened(self) -> bool:
        while not self._ended.wait(self._deployment.policy.knock_every_s):
            ours = self._is_ours()
            if ours is False:
                self._tell(PortLost())
                return False
            if ours and self._healthy():
                return True
        return False

    def _proved(self) -> bool:
        attempts = self._deployment.policy.probe_attempts
        for attempt in range(attempts):
            probe = self._ask(attempt)
            if self._ended.is_set():
                return False
            self._tell(Probed(probe, last=attempt + 1 == attempts))
            if probe.proves:
                return True
            self._ended.wait(self._deployment.policy.attempts_every_s)
        return False

    def _look_in(self) -> None:
        policy = self._deployment.policy
        idle = Idle(policy.probe_every_s, self._clock.monotonic())
        stall = Stall(policy.stall_s, self._deployment.longest_prompt)
        while not self._ended.wait(policy.health_every_s):
            look = self._looked(stall, idle)
            self._tell(look)
            self._keep(look.good)

    def _looked(self, stall: Stall, idle: Idle) -> Health:
        if not self._healthy():
            return Health(good=False)
        progress = self._progress()
        if idle.is_due(progress, self._clock.monotonic()):
            probe = self._ask(idle.asked, brief=True)
            moved = idle.answered(probe.proves, self._progress(), self._clock.monotonic())
            return Health(probe.proves or moved, probe)
        return Health(stall.moves(progress, self._clock.monotonic()))

    def _progress(self) -> Progress | None:
        return self._prober.progress(self._deployment, self._deployment.policy.health_timeout_s)

    def _healthy(self) -> bool:
        return self._prober.healthy(self._deployment, self._deployment.policy.health_timeout_s)

    def _ask(self, attempt: int, *, brief: bool = False) -> Probe:
        try:
            return self._prober.ask(self._deployment, attempt, brief=brief)
        except Exception as error:  # noqa: BLE001 - a prober's own fault is an attempt that failed, and is recorded
            return Probe(Outcome.FAILED, "", "", 0.0, f"{type(error).__name__}: {error}")
