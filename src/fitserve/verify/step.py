"""A step of the verification, and what one sees of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from fitserve.plan.plan import Check
from fitserve.verify.service import Service
from fitserve.verify.subject import Subject

Run = Callable[[Subject, Service], Awaitable[Check]]


@dataclass(frozen=True)
class Step:
    """One line. `heavy` steps wait for a moment when nobody else is served; `quick` ones are in the short round."""

    name: str
    run: Run
    quick: bool = False
    heavy: bool = False
    asks: bool = True  # puts questions: pointless once the service does not answer
    pictures: bool = False  # pointless for a model that takes none


@dataclass(frozen=True)
class Timed:
    """A line with the seconds that it took."""

    check: Check
    seconds: float


Lines = AsyncIterator[Timed]
