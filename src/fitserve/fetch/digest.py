"""A hub's checksums: SHA-256 of large files on both hubs, git's own SHA-1 of small ones on Hugging Face."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fitserve.facts.hub_site import HubFile

_BLOCK_BYTES = 4 * 1024**2


class Digest:
    """The checksum of a file as its bytes come, beside the one that the hub promised."""

    def __init__(self, file: HubFile) -> None:
        self.promised = file.digest.removeprefix("sha256:").lower()
        self._sum = hashlib.sha256() if len(self.promised) == 64 else None
        if len(self.promised) == 40:  # the name that git gives to this content: no secret, but damage shows
            self._sum = hashlib.sha1(b"blob %d\0" % file.size_bytes, usedforsecurity=False)
        self.size_bytes = 0

    def add(self, chunk: bytes) -> None:
        """The next bytes."""
        self.size_bytes += len(chunk)
        if self._sum is not None:
            self._sum.update(chunk)

    def add_file(self, path: Path) -> None:
        """All bytes of a file, as the next."""
        with path.open("rb") as content:
            while block := content.read(_BLOCK_BYTES):
                self.add(block)

    @property
    def found(self) -> str:
        """The checksum so far; "" where the hub promised none that can be computed."""
        return self._sum.hexdigest() if self._sum is not None else ""

    @property
    def agrees(self) -> bool:
        """Whether it is what the hub promised. Without a promise only the size can be held against it."""
        return not self.found or self.found == self.promised


def is_file(path: Path, file: HubFile) -> bool:
    """Whether `path` holds `file`: the size, and for a small one the content too."""
    if not path.is_file() or path.stat().st_size != file.size_bytes:
        return False
    if file.size_bytes > _BLOCK_BYTES:
        return True
    digest = Digest(file)
    digest.add_file(path)
    return digest.agrees
