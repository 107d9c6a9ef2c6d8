"""`fitserve metrics serve`: deployments, ledgers, probes and cards for Prometheus."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from fitserve.text import tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client.registry import Collector

PORT = 9477
_SLOWEST_S = 10  # for a client to send its request


@click.group("metrics", help=tr("help.metrics"))
def command() -> None:
    """See `serve`."""


@command.command(help=tr("metrics.serve"))
@click.option("--host", default="127.0.0.1", show_default=True, help=tr("metrics.option_host"))
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help=tr("metrics.option_port"))
@click.option("--insecure", is_flag=True, help=tr("metrics.option_insecure"))
def serve(host: str, port: int, insecure: bool) -> None:
    """Answer until Ctrl-C."""
    from fitserve.cli.metrics_collector import Deployed
    from fitserve.errors import SettingsError
    from fitserve.web.access import is_local

    key = os.environ.get("FITSERVE_METRICS_KEY", "")
    if not is_local(host) and not key and not insecure:
        hint = f"FITSERVE_METRICS_KEY=… fitserve metrics serve --host {host}   (--insecure)"
        raise SettingsError(tr("metrics.public", host=host), code="public_bind", hint=hint)
    listen(Deployed(), host, port, key, click.echo)


def listen(collector: Collector, host: str, port: int, key: str, ready: Callable[[str], None]) -> None:
    """Serve the collector's figures at /metrics, to those who have the key. Raises OperationFailed."""
    import socket
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.exposition import ThreadingWSGIServer

    from fitserve.errors import OperationFailed

    class Server(ThreadingWSGIServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    class Handler(WSGIRequestHandler):
        timeout = _SLOWEST_S

        def log_message(self, *_args: object) -> None:
            """A scrape every few seconds is not worth a line."""

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        server = make_server(host, port, _door(make_wsgi_app(registry), key), Server, Handler)
    except OSError as error:
        hint = "fitserve metrics serve --port 0"
        said = tr("metrics.no_port", host=host, port=port)
        raise OperationFailed(said, code="port_in_use", evidence=error.strerror or str(error), hint=hint) from error
    with server:
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{server.server_port}/metrics")
        server.serve_forever()


def _door(app: WSGIApplication, key: str) -> WSGIApplication:
    """Only /metrics, only GET, and with a key only to those who bring it."""
    import hmac

    def guarded(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        brought = environ.get("HTTP_AUTHORIZATION", "").encode("latin-1")
        if environ.get("PATH_INFO") != "/metrics" or environ.get("REQUEST_METHOD") != "GET":
            status = "404 Not Found"
        elif key and not hmac.compare_digest(brought, f"Bearer {key}".encode()):
            status = "401 Unauthorized"
        else:
            return app(environ, start_response)
        start_response(status, [("Content-Length", "0")])
        return [b""]

    return guarded
