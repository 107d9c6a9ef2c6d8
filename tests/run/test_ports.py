"""Ports."""

from __future__ import annotations

import os
import socket

from fitserve.run.ports import claimed, holder, is_free, listens_alone, next_free, why_not_here


def test_a_taken_port_is_seen_and_its_holder_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        assert holder(port).endswith(f"(pid {os.getpid()})")
        assert next_free("127.0.0.1", port) != port
    assert is_free("127.0.0.1", port)
    assert holder(port) == ""


def test_a_port_that_is_bound_but_not_yet_listened_on_is_taken() -> None:
    with socket.socket() as early:  # as vLLM does while it loads
        early.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        early.bind(("127.0.0.1", 0))
        port = early.getsockname()[1]
        assert not is_free("127.0.0.1", port)


def test_a_port_whose_connections_still_close_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            peer.close()  # the side that closes first waits
            assert client.recv(1) == b""
    assert is_free("127.0.0.1", port)


def test_a_client_that_does_not_let_go_is_no_obstacle() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        peer, _ = server.accept()
    peer.close()  # FIN_WAIT2 until the client closes too
    with client:
        assert is_free("127.0.0.1", port)


def test_who_listens(free_port: int) -> None:
    assert listens_alone("127.0.0.1", free_port, [os.getpid()]) is None
    with socket.create_server(("127.0.0.1", free_port)):
        assert listens_alone("127.0.0.1", free_port, [os.getpid()]) is True
        assert listens_alone("0.0.0.0", free_port, [os.getpid()]) is True
        assert listens_alone("127.0.0.1", free_port, [1]) is False
        assert listens_alone("127.0.0.2", free_port, [1]) is None
        assert listens_alone("::1", free_port, [1]) is None
    with socket.create_server(("::", free_port), family=socket.AF_INET6):
        assert listens_alone("127.0.0.1", free_port, [1]) is False


def test_what_is_spoken_for_is_passed_over(free_port: int) -> None:
    assert next_free("127.0.0.1", free_port, {free_port}) != free_port
    assert next_free("127.0.0.1", 65535, {65535}) is None


def test_a_claimed_port_is_the_engines_alone() -> None:
    """A server that reuses addresses, as vLLM does, gets it; whoever asks for a free port does not."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with claimed("127.0.0.1", port):
        assert not is_free("127.0.0.1", port)
        assert next_free("127.0.0.1", port) != port
        with socket.socket() as engine:
            engine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            engine.bind(("127.0.0.1", port))
            engine.listen()
            socket.create_connection(("127.0.0.1", port), 5).close()
            with claimed("127.0.0.1", port):  # taken meanwhile: no failure here, the engine will tell
                pass
    assert is_free("127.0.0.1", port)


def test_an_address_that_is_not_here_is_not_a_taken_port() -> None:
    assert [why_not_here(host) for host in ("127.0.0.1", "localhost", "0.0.0.0")] == ["", "", ""]
    for host in ("203.0.113.7", "not..a-name", "300.1.1.1.1", "a\0b", "2001:db8::1"):
        assert why_not_here(host)
