"""The usual periodic line is taken apart at once, and gives what the slow way gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from fitserve.observe.log.periodic import _by_name, _values

TENTHS = some.integers(0, 9999).map(lambda number: f"{number / 10:.1f}")
COUNT = some.integers(0, 4096)


@given(TENTHS, TENTHS, COUNT, COUNT, some.integers(0, 1000).map(lambda number: f"{number / 10:.1f}"), some.booleans())
def test_both_ways_agree(prompt, generation, running, waiting, usage, preempted):
    more = ", Preemptions: 3" if preempted else ""
    text = (
        f"(APIServer pid=1) INFO 07-14 09:13:01 [loggers.py:259] Engine 000: Avg prompt throughput: {prompt} tokens/s, "
        f"Avg generation throughput: {generation} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, "
        f"GPU KV cache usage: {usage}%, Prefix cache hit rate: {usage}%{more}"
    )
    assert _values(text) == _by_name(text)
    assert len(_values(text)) == 6 + preempted
