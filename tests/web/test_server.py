"""Ports, addresses and the extra, as `fitserve page` meets them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.errors import OperationFailed
from fitserve.web.access import is_local
from fitserve.web.server import Place, bound, url_of


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_next_free_port_is_taken(taken: int) -> None:
    with bound(Place(port=taken)) as sock:
        assert taken < sock.getsockname()[1] < taken + 50


def test_a_promised_port_is_not_moved(taken: int) -> None:
    with pytest.raises(OperationFailed) as caught:
        bound(Place(port=taken, exact=True))
    assert (caught.value.code, caught.value.exit_code) == ("port_in_use", 1)
    assert str(taken) in caught.value.evidence


def test_an_address_that_is_not_ours() -> None:
    with pytest.raises(OperationFailed):
        bound(Place(host="192.0.2.1", port=0))


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:1"), ("0.0.0.0", "http://127.0.0.1:1"), ("::1", "http://[::1]:1")]
)
def test_urls(host: str, url: str) -> None:
    assert url_of(host, 1) == url


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("[::1]", True), ("0.0.0.0", False), ("gpu.lan", False)],
)
def test_what_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local


def test_a_public_bind_needs_a_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FITSERVE_PAGE_KEY", raising=False)
    assert told(app, ["page", "--backend-url", "http://127.0.0.1:9", "--host", "0.0.0.0"]) == 2
    assert "FITSERVE_PAGE_KEY" in capsys.readouterr().err


def test_an_unknown_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert told(app, ["_page", "nobody"]) == 3
    assert "nobody" in capsys.readouterr().err
