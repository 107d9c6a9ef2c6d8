"""Whose memory a bench watches: the cards', or on a CPU engine that of all its processes."""

from __future__ import annotations

from fitserve.measure.memory import UsedMemory


class ProcessMemory:
    """What the processes of a deployment on this machine take, as one figure."""

    every_s = 1.0  # a look at the pages of several GiB takes some hundredths of a second

    def __init__(self, name: str) -> None:
        self._name = name

    def used_bytes(self) -> tuple[int, ...] | None:
        """Shared pages counted once; None where it does not run or can't be read."""
        from fitserve.run.deployment import deployment_dir
        from fitserve.run.live import read_live
        from fitserve.run.processes import memory_bytes
        from fitserve.run.sweep import engine_members

        live = read_live(self._name)
        if live is None:
            return None
        sizes = [
            memory_bytes(one.pid) for one in engine_members(str(deployment_dir(self._name)), live.engine, live.members)
        ]
        known = [size for size in sizes if size is not None]
        return (sum(known),) if known and len(known) == len(sizes) else None


def memory_of(name: str) -> UsedMemory:
    """For a deployment by its name, "" for a bare address."""
    from fitserve.observe.gpu_memory import NvmlMemory

    return ProcessMemory(name) if on_cpu(name) else NvmlMemory()


def memory_here(name: str) -> UsedMemory:
    """For a deployment that is still to be started here: the cards', where a driver answers."""
    from fitserve.observe.gpu_memory import NvmlMemory

    cards = NvmlMemory()
    return ProcessMemory(name) if cards.used_bytes() is None else cards


def on_cpu(name: str) -> bool:
    """Whether it is a deployment that computes on the processor."""
    from fitserve.run.registry import load

    deployment = load(name) if name else None
    return deployment is not None and "cpu" in deployment.engine
