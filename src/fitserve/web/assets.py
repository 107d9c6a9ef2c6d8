"""The page's static files, kept in memory and packed once: a view asks for fifty small ones at the same moment."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

_PACKED = (".js", ".css", ".svg")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}  # the machine's own table may differ


@dataclass(frozen=True)
class Asset:
    """One file as it is sent. `changed_ns`: when it was read, its time was this."""

    data: bytes
    packed: bytes | None
    tag: str
    media_type: str
    changed_ns: int


class Assets:
    """The files under a folder; one that has changed is read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self._read: dict[str, Asset] = {}

    async def __call__(self, request: Request) -> Response:
        """`GET /static/{path}`; the browser asks again each time, and mostly hears that nothing has changed."""
        asset = self._asset(request.path_params["path"])
        headers = {"etag": asset.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(status_code=304, headers=headers)
        if asset.packed and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(asset.packed, media_type=asset.media_type, headers=headers | {"content-encoding": "gzip"})
        return Response(asset.data, media_type=asset.media_type, headers=headers)

    def _asset(self, name: str) -> Asset:
        """By a name that is in the folder; no other path is ever opened."""
        try:
            path = self._known[name]
            changed_ns = path.stat().st_mtime_ns
        except (KeyError, OSError) as error:
            raise HTTPException(404) from error
        found = self._read.get(name)
        if found is None or found.changed_ns != changed_ns:
            found = self._read[name] = _read(path, changed_ns)
        return found


def _read(path: Path, changed_ns: int) -> Asset:
    data = path.read_bytes()
    packed = gzip.compress(data, 6, mtime=0) if path.suffix in _PACKED else None
    media_type = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Asset(data, packed, f'"{hashlib.sha256(data).hexdigest()[:32]}"', media_type, changed_ns)
