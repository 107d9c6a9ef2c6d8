"""An event loop whose clock jumps to the next timer when no socket has anything: latencies come out as programmed."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_LOOKS = 3  # loopback delivers within the sender's own call, so a look or two is enough before time jumps


class _Jumping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list:
        ready = super().select(0)
        for _ in range(_LOOKS if timeout != 0 else 0):
            ready = ready or super().select(0)
        if not ready and timeout is None:
            return super().select(None)
        if not ready and timeout is not None and timeout > 0:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
