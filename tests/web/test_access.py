"""Keys, and those who guess them."""

from __future__ import annotations

import pytest

from fitserve.clock import ManualClock
from fitserve.web.access import Throttle, same_key


@pytest.mark.parametrize(
    ("given", "right", "same"), [("a", "a", True), ("a", "b", False), ("", "", False), ("ключ", "ключ", True)]
)
def test_keys(given: str, right: str, same: bool) -> None:
    assert same_key(given, right) is same


def test_addresses_without_number_take_no_memory() -> None:
    clock = ManualClock()
    throttle = Throttle(clock, allowed=2)
    for number in range(5000):
        throttle.wrong(f"2001:db8::{number:x}")
    assert len(throttle._wrong) == 1024
    for _ in range(9):
        throttle.wrong("10.0.0.1")
    assert throttle.wait_s("10.0.0.1") == 60.0
    clock.sleep(59)
    assert throttle.wait_s("10.0.0.1") == 1.0
    clock.sleep(1)
    assert throttle.wait_s("10.0.0.1") == 0.0
