"""Ports."""

from __future__ import annotations

import os
import socket

from fitserve.run.ports import holder, is_free, next_free


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


def test_what_is_spoken_for_is_passed_over(free_port: int) -> None:
    assert next_free("127.0.0.1", free_port, {free_port}) != free_port
    assert next_free("127.0.0.1", 65535, {65535}) is None
