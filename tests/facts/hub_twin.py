"""A look-alike of the two hubs on loopback: files of any size without their data, and every bad mood of a real one."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

LARGE_BYTES = 64 * 1024


@dataclass
class Blob:
    """A file: its beginning, and how long it claims to be."""

    head: bytes
    size: int = -1

    def __post_init__(self) -> None:
        self.size = len(self.head) if self.size < 0 else self.size

    def cut(self, start: int, end: int) -> bytes:
        """Bytes from start up to end; beyond the beginning there are zeros."""
        part = self.head[start:end]
        return part + bytes(min(end, self.size) - start - len(part))


@dataclass
class Twin:
    """What the hub has, how it behaves, and what it was asked."""

    files: dict[str, Blob] = field(default_factory=dict)
    model: str = "org/name"
    token: str = ""  # wanted for every answer
    moods: list[str] = field(default_factory=list)  # one is used up by each request for a file; "" is a good mood
    always: str = ""
    list_mood: str = ""
    asked: list[str] = field(default_factory=list)
    sent_bytes: int = 0
    redirect: bool = False  # files come from another host, as they do from the real hubs
    cdn_auth: list[str] = field(default_factory=list)
    url: str = ""
    sums: bool = False  # the file list has real checksums
    commit: str = ""  # where the branch stands; a mirror may not say
    released: threading.Event = field(default_factory=threading.Event)

    def mood(self) -> str:
        return self.moods.pop(0) if self.moods else self.always


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    twin: ClassVar[Twin]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        twin, query = self.twin, parse_qs(parts.query)
        twin.asked.append(f"{self.path} {self.headers.get('Range', '')}".strip())
        if parts.path.startswith("/cdn/"):
            twin.cdn_auth.append(self.headers.get("Authorization", ""))
            return self._file(unquote(parts.path.removeprefix("/cdn/")))
        if twin.token and self.headers.get("Authorization") != f"Bearer {twin.token}":
            return self._reply(401, b'{"error":"Invalid username or password."}')
        listing = self._listing(parts.path)
        if listing is not None:
            return self._list(listing)
        if parts.path == f"/api/v1/models/{twin.model}/repo":
            return self._file(query["FilePath"][0])
        branch, _, name = parts.path.removeprefix(f"/{twin.model}/resolve/").partition("/")
        if parts.path.startswith(f"/{twin.model}/resolve/") and branch in ("main", twin.commit):
            if twin.redirect:
                elsewhere = twin.url.replace("127.0.0.1", "localhost")
                return self._reply(302, b"", {"Location": f"{elsewhere}/cdn/{name}"})
            return self._file(unquote(name))
        return self._reply(404, b'{"error":"Repository not found"}')

    def _listing(self, path: str) -> object:
        """What a hub's interface says of the model; None where the path is no question to it."""
        twin, model = self.twin, self.twin.model
        if path == f"/api/models/{model}/revision/main" and twin.commit:
            return {"sha": twin.commit}
        if path in (f"/api/models/{model}/tree/{branch}" for branch in ("main", twin.commit)):
            return [{"type": "file", "path": n, "size": b.size, **self._oid(b)} for n, b in self._files()]
        if path == f"/api/v1/models/{model}/repo/files":
            files = [{"Type": "blob", "Path": n, "Size": b.size, "Sha256": self._sum(b)} for n, b in self._files()]
            return {"Code": 200, "Data": {"Files": files}}
        return None

    def _files(self) -> list[tuple[str, Blob]]:
        return list(self.twin.files.items())

    def _sum(self, blob: Blob) -> str:
        return hashlib.sha256(blob.cut(0, blob.size)).hexdigest() if self.twin.sums else f"s{blob.size}"

    def _oid(self, blob: Blob) -> dict[str, object]:
        """As Hugging Face gives it: git's own for a small file, and for a large one that of its pointer."""
        if not self.twin.sums:
            return {"oid": f"o{blob.size}"}
        if blob.size > LARGE_BYTES:
            return {"oid": "0" * 40, "lfs": {"oid": self._sum(blob), "size": blob.size, "pointerSize": 134}}
        return {"oid": hashlib.sha1(b"blob %d\0" % blob.size + blob.cut(0, blob.size)).hexdigest()}

    def _list(self, content: object) -> None:
        if self.twin.list_mood:
            return self._misbehave(self.twin.list_mood, b"[]")
        return self._reply(200, json.dumps(content).encode())

    def _file(self, name: str) -> None:
        blob = self.twin.files.get(name)
        if blob is None:
            return self._reply(404, b"Entry not found")
        start, end = 0, blob.size
        wanted = self.headers.get("Range", "")
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last) + 1, blob.size)
        mood = self.twin.mood()
        if mood.startswith("no_range"):
            body = blob.cut(0, min(blob.size, 4 * 1024**2))
            return self._unsteady("half", body, 200) if mood == "no_range_half" else self._reply(200, body)
        body = blob.cut(start, end)
        if mood == "damaged":
            return self._reply(206 if wanted else 200, bytes([body[0] ^ 1]) + body[1:])
        if mood:
            return self._misbehave(mood, body)
        return self._reply(206 if wanted else 200, body)

    def _misbehave(self, mood: str, body: bytes) -> None:
        if mood.isdigit():
            return self._reply(int(mood), b"no", {"Retry-After": "1"})
        if mood in ("html", "hidden_html"):
            kind = "text/html" if mood == "html" else "application/json"
            return self._reply(200, b"<html>log in</html>", {"Content-Type": kind})
        self.close_connection = True
        if mood == "silent":
            self.twin.released.wait(20)
            return None
        return self._unsteady(mood, body)

    def _unsteady(self, mood: str, body: bytes, status: int = 206) -> None:
        """`half` breaks off in the middle, `slow` takes its time; `drip` sends a byte now and then, for ever."""
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if mood == "half":
            return self._write(body[: len(body) // 2])
        step, pause = (64 * 1024, 0.02) if mood == "slow" else (1, 0.05)
        for start in range(0, len(body), step):
            if self.twin.released.wait(pause):
                break
            self._write(body[start : start + step])
        return None

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in {"Content-Type": "application/octet-stream", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body)

    def _write(self, body: bytes) -> None:
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
            return
        self.twin.sent_bytes += len(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


@contextmanager
def running(twin: Twin) -> Iterator[Twin]:
    """The twin, answering at `twin.url` until the end of the block."""
    handler = type("Handler", (_Handler,), {"twin": twin})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    twin.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield twin
    finally:
        twin.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
