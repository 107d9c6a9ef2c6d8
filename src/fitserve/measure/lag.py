"""How late the load generator's own event loop was: a generator that lags measures itself."""

from __future__ import annotations

import asyncio

LIMIT_S = 0.010
_EVERY_S = 0.005


class LagWatch:
    """Sleeps five milliseconds again and again, and keeps how much longer it took."""

    def __init__(self) -> None:
        self.lags: list[tuple[float, float]] = []  # (loop time, seconds late), only those above a millisecond
        self.looks = 0

    async def watch(self) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _EVERY_S
            await asyncio.sleep(_EVERY_S)
            now = loop.time()
            self.looks += 1
            if now - due > 0.001:
                self.lags.append((now, now - due))

    def worst_s(self) -> float:
        """The longest lag."""
        return max((late for _, late in self.lags), default=0.0)
