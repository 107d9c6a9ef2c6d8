"""What is kept out before anybody reads it: keys tried by the dozen, other pages."""

from __future__ import annotations

import hmac
import ipaddress
from collections import OrderedDict, deque
from collections.abc import Mapping

from fitserve.clock import Clock, SystemClock
from fitserve.web.asgi import Scope

_ADDRESSES = 1024  # remembered; the one that was quiet for longest is forgotten first


def is_local(host: str) -> bool:
    """Whether only this machine can reach what binds there."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def same_key(given: str, right: str) -> bool:
    """Compared in a time that does not tell how much of it is right. No key is never the right one."""
    return bool(right) and hmac.compare_digest(given.encode(), right.encode())


class Throttle:
    """Wrong keys from an address: so many in a window, then it waits until the oldest of them has passed."""

    def __init__(self, clock: Clock | None = None, allowed: int = 5, window_s: float = 60.0) -> None:
        self._clock, self._allowed, self._window_s = clock or SystemClock(), allowed, window_s
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Seconds that this address has to wait; 0 where it may try."""
        tries = self._wrong.get(address)
        if tries is None or len(tries) < self._allowed:
            return 0.0
        return max(0.0, tries[0] + self._window_s - self._clock.monotonic())

    def wrong(self, address: str) -> None:
        """A wrong key came from there."""
        tries = self._wrong.setdefault(address, deque(maxlen=self._allowed))
        tries.append(self._clock.monotonic())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _ADDRESSES:
            self._wrong.popitem(last=False)


def is_foreign(method: str, headers: Mapping[bytes, str]) -> bool:
    """Whether the browser says that another page is behind this request. To follow a link to us is allowed.

    Another port of the same machine is another page: cookies do not tell ports apart, so this has to.
    """
    site = headers.get(b"sec-fetch-site", "none")
    follows_link = method == "GET" and headers.get(b"sec-fetch-mode") == "navigate"
    return site not in ("none", "same-origin") and not follows_link


def address(scope: Scope) -> str:
    """Who asks, as far as the connection tells."""
    client = scope.get("client")
    return str(client[0]) if client else ""
