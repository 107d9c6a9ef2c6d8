"""Addresses as people write them."""

from __future__ import annotations

import pytest

from fitserve.chat.endpoint import Endpoint, parse_base_url
from fitserve.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("https://host/prefix/v1", "https://host/prefix"),
        ("http://[::1]:8000/v1/chat/completions", "http://[::1]:8000"),
        (" http://h ", "http://h"),
    ],
)
def test_addresses(text: str, base: str) -> None:
    assert parse_base_url(text) == base


@pytest.mark.parametrize(
    "text", ["", "ftp://h", "http://", "http://h:99999", "http://h:x", "http://u:p@h", "http://h?a"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingsError):
        parse_base_url(text)


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(Endpoint("http://h", api_key="secret"))
