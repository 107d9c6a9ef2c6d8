"""Counters that stand still while requests run."""

from __future__ import annotations

from fitserve.observe.probe import progress_of
from fitserve.run.stall import Progress, Stall


def test_it_stalls_only_while_requests_run_and_nothing_moves() -> None:
    stall = Stall(10)
    assert stall.moves(Progress(1, 5), 0)
    assert stall.moves(Progress(1, 5), 9)
    assert stall.moves(Progress(1, 6), 11)  # a token came
    assert stall.moves(Progress(1, 6), 21)
    assert not stall.moves(Progress(1, 6), 22)
    assert stall.moves(Progress(0, 6), 23)  # nothing to do
    assert stall.moves(Progress(2, 6), 33)
    assert not stall.moves(Progress(2, 6), 34)
    assert stall.moves(None, 35)  # unknown is not stalled


def test_counters_of_all_engines_are_added() -> None:
    page = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 1.5e+03
vllm:generation_tokens_total{engine="0",model_name="m"} 20.0
vllm:generation_tokens_created{engine="0"} 1.79e+09
vllm:request_prefill_time_seconds_sum{engine="0",model_name="m"} 2.5e-05
"""
    assert progress_of(page) == Progress(3, 1520.0, 1500.0, 2.5e-05)
    assert progress_of("nothing of the kind") is None
