"""The page as a server: its routes, guarded, on a port that is free."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fitserve.chat.room import Room
from fitserve.errors import OperationFailed
from fitserve.paths import state_dir
from fitserve.text import LANGUAGES, tr
from fitserve.web.access import is_local
from fitserve.web.asgi import App
from fitserve.web.guard import Door, Guard, preferred_language
from fitserve.web.intake import language_of, reader_of_request
from fitserve.web.page import STATIC, page_html

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from fitserve.chat.endpoint import Endpoint
    from fitserve.web.readers import Readers

_PORTS_TRIED = 50
_SOCKET_LIMIT = 64 * 1024  # bytes; a tab only says which chat it shows


@dataclass(frozen=True)
class Backend:
    """Who answers. `name`: of a deployment, empty for a bare address; `is_demo`: say that the model is a toy."""

    endpoint: Endpoint
    name: str = ""
    is_demo: bool = False
    room: Room = field(default_factory=Room)


@dataclass(frozen=True)
class Place:
    """Where the page is to stand. `exact`: another port will not do (a supervisor has told it to people)."""

    host: str = "127.0.0.1"
    port: int = 7860
    exact: bool = False
    language: str = ""  # where `/` leads; empty: as the browser wants it
    door: Door = field(default_factory=Door)


def bound(place: Place) -> socket.socket:
    """A socket on the port or the next free one; it does not listen yet. Raises OperationFailed."""
    ports = [place.port] if place.exact or place.port == 0 else range(place.port, min(place.port + _PORTS_TRIED, 65536))
    reason = OSError()
    for port in ports:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((place.host, port))
            return sock
        except OSError as error:
            sock.close()
            reason = error
    raise _port_in_use(place, reason)


def serve(backend: Backend, place: Place, started: Callable[[str, int], None]) -> None:
    """Serve until told to stop. `started` gets the URL and the port once the page can be opened."""
    import uvicorn

    with closing(bound(place)) as sock:
        port = int(sock.getsockname()[1])
        app = build(backend, place)
        try:
            sock.listen(128)  # only now: who waits for the door to open must find somebody behind it
        except OSError as error:
            raise _port_in_use(place, error) from error
        started(url_of(place.host, port), port)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False,
            ws="websockets-sansio", ws_max_size=_SOCKET_LIMIT,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[sock])


def _port_in_use(place: Place, error: OSError) -> OperationFailed:
    evidence = f"{place.host}:{place.port}: {error.strerror or error}"
    hint = tr("web.port_in_use_next")
    return OperationFailed(tr("web.port_in_use", port=place.port), code="port_in_use", evidence=evidence, hint=hint)


def build(backend: Backend, place: Place) -> App:
    """The guarded application, without a port."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route, WebSocketRoute

    from fitserve.web.assets import Assets
    from fitserve.web.events import events
    from fitserve.web.owner_access import OwnerAccess
    from fitserve.web.owner_key import owner_key
    from fitserve.web.owner_routes import OwnerDesk
    from fitserve.web.readers import Readers
    from fitserve.web.routes import Commands
    from fitserve.web.status_diagnosis import Diagnoses
    from fitserve.web.status_routes import status_routes, tell
    from fitserve.web.status_watch import Watch

    readers = Readers(backend.endpoint, state_dir() / "page", backend.room)
    watch, diagnoses = Watch(backend.endpoint, backend.name), Diagnoses()
    owner = OwnerDesk(OwnerAccess(owner_key(), public=not is_local(place.host)), diagnoses)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        telling = asyncio.create_task(tell(watch, readers.tabs))
        yield
        telling.cancel()
        await readers.close()

    routes = [
        Route("/", _home(place.language)),
        *(Route(f"/{language}/", _page(language, backend.is_demo, readers)) for language in LANGUAGES),
        Route("/static/{path:path}", Assets(STATIC).__call__),
        WebSocketRoute("/api/events", events(readers)),
        *Commands(readers).routes(),
        *status_routes(watch, diagnoses),
        *owner.routes(),
    ]
    handlers = {Exception: _failed, HTTPException: _no_such_route}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, place.door)


async def _no_such_route(request: Request, error: Exception) -> Response:
    """404 and 405: a document under `/api/`, a word elsewhere."""
    from starlette.responses import JSONResponse, PlainTextResponse

    status, name = getattr(error, "status_code", 404), getattr(error, "detail", "")
    if not request.url.path.startswith("/api/"):
        return PlainTextResponse(name, status)
    message = tr("page.no_such_route", language_of(request))
    asked = f"{request.method} {request.url.path[:200]}"
    told = {"code": "no_such_route", "message": message, "evidence": asked, "next": ""}
    return JSONResponse({"error": told}, status, getattr(error, "headers", None))


async def _failed(request: Request, _error: Exception) -> Response:
    """Our own mistake: its traceback goes to the log, a sentence to the reader."""
    from starlette.responses import JSONResponse

    language = language_of(request)
    message, following = (tr(f"page.{name}", language) for name in ("server_failed", "server_failed_next"))
    told = {"code": "server_failed", "message": message, "evidence": "", "next": following}
    return JSONResponse({"error": told}, 500)


def _home(fixed: str) -> Callable[[Request], Awaitable[Response]]:
    """`/` leads to the fixed language, or to the browser's."""

    async def home(request: Request) -> Response:
        from starlette.responses import RedirectResponse

        return RedirectResponse(f"/{fixed or preferred_language(request.headers.get('accept-language', ''))}/", 307)

    return home


def _page(language: str, is_demo: bool, readers: Readers) -> Callable[[Request], Awaitable[Response]]:
    """The document; a new reader gets a cookie."""

    async def page(request: Request) -> Response:
        from starlette.responses import HTMLResponse

        reader = reader_of_request(request)
        readers.page_sent(reader.id)
        headers = {"cache-control": "no-store"} | ({"set-cookie": reader.cookie} if reader.is_new else {})
        return HTMLResponse(page_html(language, is_demo), headers=headers)

    return page


def url_of(host: str, port: int) -> str:
    """As a person on this machine opens it."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"http://{name}:{port}"
