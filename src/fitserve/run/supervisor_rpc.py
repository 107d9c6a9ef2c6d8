"""Supervisor's XML-RPC over its Unix socket.

supervisor has a transport of its own for this; it sets no time limit, and importing it takes as long as a whole
`fitserve --help`. This one is the standard library's, with a limit.
"""

from __future__ import annotations

import http.client
import socket
import xmlrpc.client
from pathlib import Path
from typing import Any

from fitserve.errors import OperationFailed
from fitserve.text import tr

BAD_NAME, NOT_RUNNING, ALREADY_STARTED, ALREADY_ADDED, STILL_RUNNING = 10, 70, 60, 90, 91  # supervisor.xmlrpc.Faults
_TIMEOUT_S = 15.0


class Fault(Exception):
    """Supervisor refused; `code` is one of its fault codes."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.settimeout(_TIMEOUT_S)
        try:
            opened.connect(self._path)
        except OSError:
            opened.close()
            raise
        self.sock = opened


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: Any) -> http.client.HTTPConnection:  # noqa: ANN401 - the base class's signature
        connection = _UnixConnection(self._path)
        self._connection = host, connection  # where `close` looks for it
        return connection


def call(path: Path, method: str, *arguments: object) -> Any:  # noqa: ANN401 - what the method gives
    """Call `supervisor.METHOD`. Raises Fault where it refuses, OSError where nobody listens."""
    with xmlrpc.client.ServerProxy("http://localhost", _UnixTransport(str(path)), allow_none=True) as proxy:
        try:
            return getattr(proxy.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            raise Fault(fault.faultCode, fault.faultString) from fault
        except (http.client.HTTPException, xmlrpc.client.Error) as error:
            raise OperationFailed(tr("run.supervisor_garbled"), evidence=str(error)) from error
