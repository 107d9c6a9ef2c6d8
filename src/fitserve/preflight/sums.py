"""Are the files' bytes those that the hub has? Hashed against its sums; a right file is not hashed twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fitserve.errors import FitserveError
from fitserve.facts.hub_ref import is_on
from fitserve.facts.hub_site import HubFile
from fitserve.fetch.digest import Digest
from fitserve.paths import cache_dir
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.promised import Promised, promised
from fitserve.preflight.subject import Subject
from fitserve.text import tr
from fitserve.units import GIB, format_bytes

NAME = "files_hashed"
_AT_ONCE = 4  # the disk is the bound
_TOLD_FROM = GIB


def check(subject: Subject) -> Iterator[Check]:
    """A line for each file that differs, or one that says how many are right."""
    folder = subject.folder
    if subject.facts is None or folder is None:
        return
    if subject.quick:
        yield Check(NAME, CheckState.UNKNOWN, tr("check.hash_left_out"), hint=f"fitserve check {subject.model}")
        return
    offline = is_on("HF_HUB_OFFLINE") or is_on("TRANSFORMERS_OFFLINE")
    try:
        known = promised(folder, subject.ref, offline=offline)
    except FitserveError as error:
        yield Check(NAME, CheckState.UNKNOWN, tr("check.hash_unreachable"), error.evidence or error.message, error.hint)
        return
    yield from _held(subject, folder, known)


def _held(subject: Subject, folder: Path, known: Promised) -> Iterator[Check]:
    summed = [file for file in known.files if Digest(file).promised and Digest(file).found]
    if not summed:
        yield Check(NAME, CheckState.UNKNOWN, tr("check.hash_no_sums"), str(folder))
        return
    memory = Memory(cache_dir() / "hashed.json")
    bad = [(file, why) for file, why in _differences(subject, folder, summed, memory) if why]
    again = f"fitserve up {subject.ref}" if subject.ref else f"fitserve inspect {subject.model}"
    for file, why in bad:
        yield Check(NAME, CheckState.FAIL, tr("check.hash_differs", file=file.path), why, again)
    if not bad:
        size = format_bytes(sum(file.size_bytes for file in summed))
        said = tr("check.hash_right", files=len(summed), size=size)
        source = tr(f"check.sums_{known.source}") if known.source in ("cache", "download") else known.source
        yield Check(NAME, CheckState.OK, said, source)


def _differences(
    subject: Subject, folder: Path, files: Sequence[HubFile], memory: Memory
) -> Iterator[tuple[HubFile, str]]:
    """Each file with what is wrong with it, "" where nothing is."""
    new = sum(file.size_bytes for file in files if not memory.holds(folder / file.path, file))
    if new > _TOLD_FROM:
        subject.say(tr("check.hashing", size=format_bytes(new)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda file: difference(folder / file.path, file, memory), files))
    memory.write()
    yield from zip(files, found, strict=True)


def difference(path: Path, file: HubFile, memory: Memory) -> str:
    """What is wrong with a file, as evidence: its size, its sum, or why it can't be read."""
    if memory.holds(path, file):
        return ""
    digest = Digest(file)
    try:
        size = path.stat().st_size
        if size != file.size_bytes:
            return f"{size} bytes, {file.size_bytes} promised"
        digest.add_file(path)
    except OSError as error:
        return error.strerror or str(error)
    if not digest.agrees:
        return f"{digest.found} ({digest.promised} promised)"
    memory.remember(path, file)
    return ""


class Memory:
    """Files that were found right, by path, size, time and inode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[object]] = {}
        with suppress(OSError, ValueError):
            found = json.loads(path.read_text(encoding="utf-8"))
            self._rows = found if isinstance(found, dict) else {}

    def holds(self, path: Path, file: HubFile) -> bool:
        """Whether this very file was found to have this sum."""
        with suppress(OSError):
            return self._rows.get(str(path.resolve())) == _row(path, file)
        return False

    def remember(self, path: Path, file: HubFile) -> None:
        """It has its sum."""
        with suppress(OSError):
            self._rows[str(path.resolve())] = _row(path, file)

    def write(self) -> None:
        """Keep it. A memory that can't be written is only slower."""
        with suppress(OSError):
            draft = self._path.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(self._rows), encoding="utf-8")
            draft.replace(self._path)


def _row(path: Path, file: HubFile) -> list[object]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ino, file.digest]
