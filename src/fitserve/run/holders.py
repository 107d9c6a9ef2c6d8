"""Who holds GPU memory: the process, its owner and since when it runs. It is only named, never ended."""

from __future__ import annotations

from collections.abc import Iterable

from fitserve.run.edges import Holder


def named(holders: Iterable[Holder]) -> tuple[dict[str, object], ...]:
    """`pid`, `used_bytes`, `process`, `owner`, `since` (wall clock, seconds); None where that can't be seen."""
    return tuple(_named(holder) for holder in holders)


def _named(holder: Holder) -> dict[str, object]:
    import psutil

    told: dict[str, object] = {"pid": holder.pid, "used_bytes": holder.used_bytes}
    try:
        process = psutil.Process(holder.pid)
        with process.oneshot():
            return told | {"process": process.name(), "owner": process.username(), "since": process.create_time()}
    except psutil.Error:  # gone meanwhile, or of another container: the driver counts in the host's own pids
        return told | {"process": None, "owner": None, "since": None}
