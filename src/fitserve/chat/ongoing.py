"""Answers under way: each can be stopped from outside, even before its first token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fitserve.chat.answer import Answer


class Dropped(Exception):
    """The answer was ended by its reader, who has turned to something else."""


class Ongoing:
    """By reader: one who asks again, leaves or presses stop ends what was under way."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        """How many answers are being written."""
        return len(self._tasks)

    def stop(self, reader: str) -> bool:
        """End a reader's answer now; its connection is closed. False where there was none."""
        task = self._tasks.get(reader)
        return task is not None and task.cancel()

    def drop(self, reader: str) -> bool:
        """The same, and nobody wants to see it any more: `follow` raises Dropped."""
        stopped = self.stop(reader)
        if stopped:
            self._tasks.pop(reader)
        return stopped

    async def follow(
        self, reader: str, stream: AsyncGenerator[Answer, None], pace_s: float = 0.03
    ) -> AsyncGenerator[Answer, None]:
        """The answer as it grows, the newest state at most once in `pace_s`. A stopped one just ends.

        Raises what the stream raises, and Dropped.
        """
        self.drop(reader)
        desk = _Desk()
        task = asyncio.ensure_future(desk.write(stream))
        task.add_done_callback(lambda _task: desk.changed.set())
        self._tasks[reader] = task
        try:
            while not (task.done() and desk.shown is desk.newest):
                await desk.changed.wait()
                desk.changed.clear()
                if desk.newest is not None and desk.newest is not desk.shown:
                    desk.shown = desk.newest
                    yield desk.shown
                    await asyncio.sleep(pace_s)
            if self._tasks.get(reader) is not task:
                raise Dropped
            if not task.cancelled():
                task.result()
        finally:
            if self._tasks.get(reader) is task:
                del self._tasks[reader]
            task.cancel()


class _Desk:
    """Where the newest state of one answer lies."""

    def __init__(self) -> None:
        self.newest: Answer | None = None
        self.shown: Answer | None = None
        self.changed = asyncio.Event()

    async def write(self, stream: AsyncGenerator[Answer, None]) -> None:
        async with aclosing(stream):
            async for self.newest in stream:
                self.changed.set()
