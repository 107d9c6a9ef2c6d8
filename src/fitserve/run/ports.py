"""Ports: whether one is free, who listens there, and the next one that is free."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_TRIED = 200
_LISTENS = "0A"  # a state of /proc/net/tcp
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


@dataclass(frozen=True)
class _Row:
    """A line of /proc/net/tcp."""

    address: str
    port: int
    state: str
    inode: str


def is_free(host: str, port: int) -> bool:
    """Whether a server could have the port for itself.

    vLLM binds long before it listens, and lets others bind too: asking as a server does (SO_REUSEADDR) would call the
    port of an engine that is starting free. What is left of a server's connections, closing or held open by a client
    for a minute, is no obstacle.
    """
    if _binds(host, port, reuse=False):
        return True
    remains = any(row.state != _LISTENS and row.port == port for row in _rows())
    return remains and not _listeners(host, port) and _binds(host, port, reuse=True)


def next_free(host: str, first: int, taken: Collection[int] = ()) -> int | None:
    """The first free port from `first` on that is not spoken for; None where the next 200 are all in use."""
    for port in range(first, min(first + _TRIED, 65536)):
        if port not in taken and is_free(host, port):
            return port
    return None


def why_not_here(host: str) -> str:
    """Why no server can listen on this address, whatever the port; "" where one can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except (OSError, ValueError, TypeError) as error:  # the last two: a name that no resolver would take
        return (error.strerror if isinstance(error, OSError) else "") or str(error)
    return ""


@contextlib.contextmanager
def claimed(host: str, port: int) -> Iterator[None]:
    """Hold the port while an engine gets ready: vLLM binds it half a minute after it was started.

    Bound but never listening, with SO_REUSEADDR: the engine, which sets that too, can still have it, while whoever asks
    `is_free` hears no. Where even that fails, the engine will say so itself.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            held.bind((host, port))
        yield


def listens_alone(host: str, port: int, pids: Iterable[int]) -> bool | None:
    """Whether these processes, and nobody else, listen there. None where nobody listens.

    A server may set SO_REUSEPORT: a second one of the same user then silently shares the connections.
    """
    inodes = _listeners(host, port)
    if not inodes:
        return None
    ours: set[str] = set()
    for pid in pids:
        ours |= _socket_inodes(Path("/proc") / str(pid) / "fd")
    return inodes <= ours


def holder(port: int, but: Collection[int] = ()) -> str:
    """Who listens on the port, for the evidence: `python (pid 4711)`. "" where that can't be seen."""
    wanted = {row.inode for row in _rows() if row.state == _LISTENS and row.port == port}
    for entry in Path("/proc").iterdir() if wanted else ():
        if entry.name.isdigit() and int(entry.name) not in but and wanted & _socket_inodes(entry / "fd"):
            with contextlib.suppress(OSError):
                return f"{(entry / 'comm').read_text().strip()} (pid {entry.name})"
    return ""


def _binds(host: str, port: int, *, reuse: bool) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(reuse))
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _listeners(host: str, port: int) -> set[str]:
    """Inodes of the sockets that would take a connection to this address."""
    address = "127.0.0.1" if host == "localhost" else host
    return {
        row.inode
        for row in _rows()
        if row.state == _LISTENS
        and row.port == port
        and (row.address == address or row.address in _EVERYWHERE or address in _EVERYWHERE)
    }


def _rows() -> Iterator[_Row]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                address, _, port = fields[1].partition(":")
                yield _Row(_address(address), int(port, 16), fields[3], f"socket:[{fields[9]}]")


def _address(text: str) -> str:
    """The kernel writes each 32 bits of an address in the machine's byte order."""
    raw = b"".join(bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8))
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)


def _socket_inodes(folder: Path) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in folder.iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found
