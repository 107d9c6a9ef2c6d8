"""Who reads: a browser, told from another by a random cookie. Their chats and settings are theirs alone."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

COOKIE = "fitserve_reader"
_ID = re.compile(r"[0-9a-f]{32}")
_YEAR_S = 365 * 24 * 3600


@dataclass(frozen=True)
class Reader:
    """`is_new`: the cookie is to be set."""

    id: str
    is_new: bool = False

    @property
    def cookie(self) -> str:
        """As `Set-Cookie` carries it."""
        return f"{COOKIE}={self.id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_YEAR_S}"


def reader_of(cookies: str) -> Reader:
    """From a Cookie header; somebody new where there is none, or one that we have not made."""
    try:
        morsel = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        morsel = None
    if morsel and _ID.fullmatch(morsel.value):
        return Reader(morsel.value)
    return Reader(secrets.token_hex(16), is_new=True)
