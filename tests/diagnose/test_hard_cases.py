"""Logs in which the words of a failure stand beside it: requests that quote one, silence, what a traceback proves."""

from __future__ import annotations

import pytest

from fitserve.diagnose.engine import diagnose, watched
from fitserve.observe.log.read import read_lines

SERVED = [
    "(APIServer pid=1) INFO 07-14 09:12:31 [utils.py:299] vLLM API server version 0.22.1",
    "(APIServer pid=1) INFO:     Application startup complete.",
]
INFO = "(APIServer pid=1) INFO 07-14 09:20:00 [logger.py:42] "
QUOTED = [
    "No available memory for the cache blocks",
    "Free memory on device cuda:0 (1.6/23.6 GiB) on startup is less than desired GPU memory utilization",
    "the weight is not divisible by min_thread_k = 128",
    "content: !!!!!!!!!!!!",
    "To serve at least one request with the models's max seq len (4096), (2.0 GiB KV cache is needed, which is larger",
]


def judged(*log):
    return diagnose(read_lines([*SERVED, *log], watched()))


@pytest.mark.parametrize("words", QUOTED)
@pytest.mark.parametrize(
    "head", ["Received request cmpl-1: prompt: '", "Generated response cmpl-1 (streaming complete): output: '"]
)
def test_what_a_user_wrote_is_no_evidence(head, words):
    assert judged(f"{INFO}{head}{words}', params: x").findings == ()


def test_information_alone_is_never_fatal():
    assert judged(f"{INFO}No available memory for the cache blocks").findings == ()


def test_a_collector_that_calls_everything_info_hides_no_error():
    inner = "ERROR 07-14 09:20:00 [core.py:1099] ValueError: No available memory for the cache blocks."
    found = diagnose(read_lines([f'{{"level": "info", "log": "{inner}"}}'], watched()))
    assert found.findings[0].cause == "no_kv_memory"
