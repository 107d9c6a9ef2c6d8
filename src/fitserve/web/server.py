"""The page as a server: both languages mounted, guarded, on a port that is free."""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fitserve.errors import OperationFailed, ToolMissing
from fitserve.paths import cache_dir
from fitserve.text import LANGUAGES, tr
from fitserve.web.asgi import App
from fitserve.web.guard import Door, Guard, preferred_language

if TYPE_CHECKING:
    from collections.abc import Callable

    from fitserve.chat.endpoint import Endpoint

_PORTS_TRIED = 50
_QUEUE_POLL_S = 0.02  # Gradio's own 1 ms costs a tenth of a core while nobody asks anything
_UPLOAD_LIMIT = "64mb"
_CSS = """
footer { display: none !important }
.gradio-container .fillable { max-width: 60rem !important; padding: 1rem !important }
#top { position: relative } #top h1 { font-size: 1.1rem; margin: 0 5rem 0 0 } #top h1 span { font-weight: 400 }
#top .language { position: absolute; top: 0; right: 0 } #top p { font-size: .85rem; margin: 0 }
#chat { height: calc(100dvh - 19rem) !important } #chat pre code { white-space: pre-wrap }
#chat img { max-height: 14rem; width: auto } #chat .message.component { width: auto }
#chat .download-link ~ button { display: none } /* Gradio's share button sends the picture to another company */
#notices { min-height: 2.6rem } #notices p { margin: 0; font-size: .85rem }
#notices .figures { font-variant-numeric: tabular-nums }
.gradio-container .column { gap: .5rem }
#buttons { align-items: center } #buttons button { flex-grow: 0; min-width: max-content }
@media (max-width: 640px) { #chat { height: calc(100dvh - 25rem) !important } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important } }
"""
_HEAD = """<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>\
<rect width='8' height='8' rx='2' fill='%23c2410c'/><path d='M2 6V2h4M2 4h3' stroke='white' fill='none'/></svg>">"""
_GRADIO_SAYS = ("conversation_label", "box_label", "drop_label", "file_label", "upload_label", "send_label")
_RELABEL = """<script>(() => {
const words = WORDS; let waiting = false;
const tell = () => { waiting = false; document.documentElement.lang = "LANGUAGE";
  for (const one of document.querySelectorAll("[aria-label]")) {
    const word = words[one.getAttribute("aria-label")]; if (word) one.setAttribute("aria-label", word); } };
new MutationObserver(() => { if (!waiting) { waiting = true; setTimeout(tell, 200); } })
  .observe(document.documentElement, {childList: true, subtree: true}); tell(); })()</script>"""
_FONTS = ("ui-sans-serif", "system-ui", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "WenQuanYi Zen Hei",
          "sans-serif")  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where the page is to stand. `exact`: another port will not do (a supervisor has told it to people)."""

    host: str = "127.0.0.1"
    port: int = 7860
    exact: bool = False
    language: str = ""  # where `/` leads; empty: as the browser wants it
    door: Door = field(default_factory=Door)


def require_gradio() -> None:
    """Raises ToolMissing with the install line where the extra is not installed."""
    import importlib.util

    if importlib.util.find_spec("gradio") is None:
        raise ToolMissing(tr("web.not_installed"), code="web_missing", hint="pip install 'fitserve[web]'")


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


def serve(endpoint: Endpoint, place: Place, is_demo: bool, started: Callable[[str, int], None]) -> None:
    """Serve until told to stop. `started` gets the URL and the port once the page can be opened."""
    require_gradio()
    with closing(bound(place)) as sock:
        port = int(sock.getsockname()[1])
        app = build(endpoint, place, is_demo)
        try:
            sock.listen(128)  # only now: who waits for the door to open must find somebody behind it
        except OSError as error:
            raise _port_in_use(place, error) from error
        started(url_of(place.host, port), port)
        import uvicorn

        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False, ws="none"
        )
        uvicorn.Server(config).run(sockets=[sock])


def _port_in_use(place: Place, error: OSError) -> OperationFailed:
    evidence = f"{place.host}:{place.port}: {error.strerror or error}"
    hint = tr("web.port_in_use_next")
    return OperationFailed(tr("web.port_in_use", port=place.port), code="port_in_use", evidence=evidence, hint=hint)


def build(endpoint: Endpoint, place: Place, is_demo: bool) -> App:
    """The guarded application, without a port."""
    uploads = cache_dir() / "page"
    uploads.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.update(GRADIO_TEMP_DIR=str(uploads), GRADIO_ANALYTICS_ENABLED="False", HF_HUB_OFFLINE="1")
    import gradio as gr
    from fastapi import FastAPI

    from fitserve.chat.ongoing import Ongoing
    from fitserve.web.app import Page
    from fitserve.web.talk import Desk

    desk = Desk(endpoint, Ongoing())
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_route("/", _home(place.language), methods=["GET"])
    theme = gr.themes.Default(font=_FONTS, font_mono=("ui-monospace", "Consolas", "monospace"))
    options: dict[str, Any] = {
        "theme": theme,
        "css": _CSS,
        "max_file_size": _UPLOAD_LIMIT,
        "footer_links": [],
    }
    for language in LANGUAGES:
        blocks = Page(desk, language, is_demo).blocks()
        gr.mount_gradio_app(
            app, blocks, f"/{language}", show_error=False, run_history=False, ssr_mode=False, pwa=False,
            mcp_server=False, enable_monitoring=False, allowed_paths=[], head=_head(language), **options,
        )  # fmt: skip
        blocks._queue.sleep_when_free = _QUEUE_POLL_S
    return Guard(app, place.door)


def _head(language: str) -> str:
    """The icon; and, because Gradio's own labels are English for everybody, those of the page's language."""
    words = {tr(f"web.{name}", "en"): tr(f"web.{name}", language) for name in _GRADIO_SAYS}
    if language == "en":
        return _HEAD
    return _HEAD + _RELABEL.replace("WORDS", json.dumps(words)).replace("LANGUAGE", language)


def _home(fixed: str) -> Callable[[Any], Any]:
    """`/` leads to the fixed language, or to the browser's."""
    from fastapi.responses import RedirectResponse

    async def home(request: Any) -> Any:  # noqa: ANN401 - FastAPI is imported late
        return RedirectResponse(f"/{fixed or preferred_language(request.headers.get('accept-language', ''))}/", 307)

    return home


def url_of(host: str, port: int) -> str:
    """As a person on this machine opens it."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"http://{name}:{port}"
