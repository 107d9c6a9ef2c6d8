"""Waiting for GPU memory, with a card that a test plays."""

from __future__ import annotations

from collections.abc import Sequence

from fitserve.clock import ManualClock
from fitserve.run.edges import Holder
from fitserve.run.release import wait_for_memory
from fitserve.units import GIB


class Played:
    """A card whose use goes down step by step."""

    def __init__(self, used: Sequence[tuple[int, ...] | None], holders: tuple[Holder, ...] | None = ()) -> None:
        self._used, self._holders = list(used), holders

    def used_bytes(self) -> tuple[int, ...] | None:
        return self._used.pop(0) if len(self._used) > 1 else self._used[0]

    def holders(self) -> tuple[Holder, ...] | None:
        return self._holders


def test_it_waits_until_the_memory_is_back() -> None:
    release = wait_for_memory(Played([(20 * GIB,), (10 * GIB,), (GIB,)]), (GIB,), frozenset(), 60, ManualClock())
    assert (release.back, release.seconds) == (True, 0.5)


def test_it_says_who_holds_it() -> None:
    holder = Holder(7, None)
    release = wait_for_memory(Played([(20 * GIB,)], (holder,)), (GIB,), frozenset(), 5, ManualClock())
    assert (release.back, release.holders) == (False, (holder,))


def test_a_neighbour_that_came_meanwhile_is_not_waited_for() -> None:
    release = wait_for_memory(
        Played([(20 * GIB,)], (Holder(7, 19 * GIB + GIB // 2),)), (GIB,), frozenset(), 60, ManualClock()
    )
    assert (release.back, release.seconds) == (True, 0.0)


def test_our_own_process_on_the_card_is_not_the_end() -> None:
    release = wait_for_memory(Played([(GIB,)], (Holder(7, None),)), (GIB,), frozenset({7}), 5, ManualClock())
    assert release.back is False


def test_without_a_driver_it_is_unknown_and_nothing_is_waited_for() -> None:
    assert wait_for_memory(Played([None], None), None, frozenset(), 60, ManualClock()).back is None
    assert wait_for_memory(Played([None], None), (GIB,), frozenset(), 60, ManualClock()).back is None
