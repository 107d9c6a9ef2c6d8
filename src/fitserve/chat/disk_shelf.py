"""The history on the reader's disk: a folder a chat, with `turns.jsonl` (append-only) and its pictures by digest.

A line is written with one call under a lock, so that two servers never mix; one that a crash has cut in half is ended
before the next. Deleting moves the folder away first: a server that still has the chat open finds it gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fitserve.chat.images import Picture
from fitserve.chat.records import Begun, Chat, Record, folded, from_lines, to_line
from fitserve.chat.said import HistoryUnwritable, said
from fitserve.chat.shelf import chat_missing, new_id
from fitserve.clock import Clock, SystemClock
from fitserve.paths import state_dir

_ID = re.compile(r"[0-9a-f]{8,64}")
_LINES = "turns.jsonl"
_PICTURES = "pictures"
_TRASH = ".deleted-"


class DiskShelf:
    """Chats under one folder, private to its owner."""

    keeps = True

    def __init__(self, folder: Path | None = None, clock: Clock | None = None) -> None:
        self._folder = folder or state_dir() / "chats"
        self._clock = clock or SystemClock()
        self._read: dict[str, tuple[tuple[int, int], Chat]] = {}  # by id: the file's size and time, and its chat

    def create(self, system: str = "") -> Chat:
        """A new chat. Raises HistoryUnwritable."""
        chat_id = new_id()
        with _writing(self._folder):
            folder = self._folder / chat_id
            (folder / _PICTURES).mkdir(mode=0o700, parents=True)
            self._folder.chmod(0o700)
            folder.chmod(0o700)
            os.close(os.open(folder / _LINES, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self.append(chat_id, Begun(system=system))
        return self.load(chat_id)

    def chats(self) -> tuple[Chat, ...]:
        """All, the latest first, without their pictures."""
        read = {}
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            with contextlib.suppress(OSError):  # deleted meanwhile
                if _ID.fullmatch(folder.name):
                    read[folder.name] = self._listed(folder)
        self._read = read
        return tuple(sorted((chat for _, chat in read.values()), key=lambda chat: -chat.updated))

    def load(self, chat_id: str) -> Chat:
        """With its pictures; one whose file is gone is left out."""
        try:
            records = from_lines((self._chat(chat_id) / _LINES).read_bytes())
        except OSError as error:
            raise chat_missing() from error
        return folded(chat_id, records, lambda digest: self.picture(chat_id, digest))

    def append(self, chat_id: str, record: Record, pictures: tuple[Picture, ...] = ()) -> None:
        """One thing that happened; this process may die right after. Raises HistoryUnwritable."""
        folder = self._chat(chat_id)
        with _writing(folder):
            for picture in pictures:
                _write_once(folder / _PICTURES / picture.digest, picture.data)
            _append(folder / _LINES, to_line(msgspec.structs.replace(record, at=self._clock.now())))

    def picture(self, chat_id: str, digest: str) -> bytes | None:
        """A picture's bytes by its digest; None where there is none."""
        if not _ID.fullmatch(digest):
            return None
        try:
            return (self._chat(chat_id) / _PICTURES / digest).read_bytes()
        except OSError:
            return None

    def delete(self, chat_id: str) -> None:
        """The chat with its pictures. Raises HistoryUnwritable."""
        folder = self._chat(chat_id)
        with _writing(folder):
            away = folder.with_name(f"{_TRASH}{chat_id}-{new_id()}")
            folder.rename(away)
            shutil.rmtree(away)

    def _listed(self, folder: Path) -> tuple[tuple[int, int], Chat]:
        """A chat without its pictures, read again only where its file has changed: the list is shown often."""
        found = (folder / _LINES).stat()
        now = (found.st_size, found.st_mtime_ns)
        known = self._read.get(folder.name)
        if known and known[0] == now:
            return known
        return now, folded(folder.name, from_lines((folder / _LINES).read_bytes()), lambda _digest: None)

    def _chat(self, chat_id: str) -> Path:
        """Raises ChatMissing, also for what is no id: it may come from an address."""
        folder = self._folder / chat_id
        if not _ID.fullmatch(chat_id) or not folder.is_dir():
            raise chat_missing()
        return folder


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise chat_missing() from error
    except OSError as error:
        evidence = f"{error.filename or folder}: {error.strerror}"
        next_step = said("chat.history_unwritable_next")
        what = said("chat.history_unwritable")
        raise HistoryUnwritable(what, code="history_unwritable", evidence=evidence, next_step=next_step) from error


def _append(path: Path, line: bytes) -> None:
    """No file is made here: a deleted chat must not come back by its last answer."""
    file = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        torn = size and os.pread(file, 1, size - 1) != b"\n"
        written = os.write(file, b"\n" + line if torn else line)
        if written < len(line) + bool(torn):
            os.ftruncate(file, size)  # a full disk: half a line says nothing
            raise OSError(28, os.strerror(28), str(path))
    finally:
        os.close(file)


def _write_once(path: Path, data: bytes) -> None:
    """By its digest: what is there is the same. Whole or not at all."""
    if path.exists():
        return
    half = path.with_name(f"{path.name}.{new_id()}.part")
    with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - its mode
        file.write(data)
    half.replace(path)
