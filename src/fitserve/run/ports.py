"""Ports: whether one is free, who has it, and the next one that is."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection
from pathlib import Path

_TRIED = 200


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no obstacle
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def next_free(host: str, first: int, taken: Collection[int] = ()) -> int | None:
    """The first free port from `first` on that is not spoken for; None where the next 200 are all in use."""
    for port in range(first, min(first + _TRIED, 65536)):
        if port not in taken and is_free(host, port):
            return port
    return None


def holder(port: int) -> str:
    """Who listens on the port, for the evidence: `python (pid 4711)`. "" where that can't be seen."""
    wanted = _listening_inodes(port)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and wanted & _socket_inodes(entry / "fd"):
            with contextlib.suppress(OSError):
                return f"{(entry / 'comm').read_text().strip()} (pid {entry.name})"
    return ""


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _socket_inodes(folder: Path) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in folder.iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found
