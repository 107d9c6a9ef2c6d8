"""Blocks of shared memory that a killed engine leaves in /dev/shm: removed where they are surely its own.

Their names are random (Python's and vLLM's), so a block is known by what was seen while the engine lived: it was not
there before the engine's start, a process of the engine had it mapped, and nobody has it mapped any more.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fitserve.run.processes import running

_FOLDER = Path("/dev/shm")  # noqa: S108 - where the kernel keeps it
_ROW = re.compile(r"^\S+ \S+ \S+ \S+ (\d+) +(/dev/shm/(?:psm_|sem\.mp-|vllm_dist_)[\w.-]+)$", re.M)


@dataclass(frozen=True)
class Block:
    """A name and the very file behind it."""

    path: str
    inode: int


class SharedMemory:
    """The blocks of one engine. Make it before the engine is started."""

    def __init__(self) -> None:
        self._before = _all()
        self._seen: set[Block] = set()

    def look(self, pids: Iterable[int]) -> None:
        """Remember what these processes have mapped now."""
        for pid in pids:
            self._seen |= _mapped(pid) - self._before

    def clear(self) -> tuple[str, ...]:
        """Remove what is left; returns the names. Call it when none of the engine's processes lives."""
        left = self._seen & _all()
        for process in running() if left else ():
            left -= _mapped(process.pid)
        for block in left:
            with contextlib.suppress(OSError):
                Path(block.path).unlink()
        return tuple(sorted(block.path for block in left))


def _mapped(pid: int) -> set[Block]:
    try:
        text = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return set()
    return {Block(path, int(inode)) for inode, path in _ROW.findall(text)}


def _all() -> set[Block]:
    """Every block of ours, whoever made it."""
    found = set()
    with contextlib.suppress(OSError), os.scandir(_FOLDER) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid():
                    found.add(Block(entry.path, status.st_ino))
    return found
