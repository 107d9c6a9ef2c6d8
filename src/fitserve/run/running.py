"""The parts of an engine that runs, and their end: processes, output, what they shared, the memory of the cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitserve.clock import Clock
from fitserve.run.deployment import Deployment
from fitserve.run.drain import Drain
from fitserve.run.edges import GpuMemory
from fitserve.run.engine_process import EngineProcess
from fitserve.run.holders import named
from fitserve.run.processes import Identity
from fitserve.run.pulse import Pulse
from fitserve.run.release import wait_for_memory
from fitserve.run.shared_memory import SharedMemory
from fitserve.run.sockets import clear_sockets


@dataclass(frozen=True)
class Ending:
    """What ending an engine took. `memory_back` is None where no driver can say."""

    killed: tuple[int, ...]  # pids that did not hear the TERM
    shared_memory: tuple[str, ...]  # blocks that it left, removed
    memory_back: bool | None
    wait_s: float
    held: tuple[dict[str, object], ...]  # who holds memory of the cards, where it did not come back


@dataclass
class Running:
    """One engine."""

    engine: EngineProcess
    drain: Drain
    pulse: Pulse
    gpu_before: tuple[int, ...] | None
    shared: SharedMemory

    def members(self) -> tuple[Identity, ...]:
        """The engine's processes now; what they share is remembered."""
        found = self.engine.members()
        self.shared.look(member.pid for member in found)
        return found

    def end(self, deployment: Deployment, known: Sequence[Identity], gpu: GpuMemory, clock: Clock) -> Ending:
        """End every process of the engine, read its last words, wait for the memory."""
        policy = deployment.policy
        self.pulse.end()
        self.members()
        everybody = frozenset(one.pid for one in (*known, *self.engine.members(known), self.engine.identity))
        stubborn = self.engine.end(policy.stop_wait_s, clock, known)
        clear_sockets(deployment.name)
        cleared = self.shared.clear()
        self.drain.join(timeout=5.0)
        release = wait_for_memory(gpu, self.gpu_before, everybody, policy.memory_wait_s, clock)
        killed = tuple(one.pid for one in stubborn)
        return Ending(killed, cleared, release.back, round(release.seconds, 2), named(release.holders))
