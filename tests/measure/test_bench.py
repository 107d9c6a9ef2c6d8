"""A whole bench against the stub on virtual time: its parts, the server's view, what is marked invalid."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from sse_server import Endpoint as Stub
from sse_server import Programme
from virtual_time import run_virtually

from fitserve.chat.endpoint import Endpoint
from fitserve.measure.bench import Bench, Spec, bench
from fitserve.measure.figures import Bounds
from fitserve.measure.load import Pace
from fitserve.measure.sample import Sample
from fitserve.measure.server import Held, counters
from fitserve.measure.tables import bench_table, spec_from, spec_table
from fitserve.measure.workload import Workload

WORK = Workload(conversations=12, sizes=((64, 64),), output_tokens=10)
SPEC = Spec(WORK, Pace(users=2), warmup=3, bounds=Bounds(first_token_s=1.0))


class Heard:
    def __init__(self) -> None:
        self.parts: list[tuple[str, int]] = []
        self.samples: list[tuple[str, Sample]] = []

    def begins(self, part: str, requests: int) -> None:
        self.parts.append((part, requests))

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:
        assert in_flight <= 2
        self.samples.append((part, sample))


class TwoCards:
    """Memory that grows by a byte a look on the second card."""

    looks = 0

    def used_bytes(self) -> tuple[int, ...]:
        self.looks += 1
        return 100, 200 + self.looks


def measured(stub: Stub, spec: Spec = SPEC, heard: Heard | None = None) -> Bench:
    async def run() -> Bench:
        async with await stub.serve() as server:
            endpoint = Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "stub")
            return await bench(endpoint, spec, TwoCards(), asyncio.Event(), heard or Heard())

    return run_virtually(run())


def pictures_cost(body: dict) -> int:
    content = body["messages"][0]["content"]
    return 20 + 64 * sum(part["type"] == "image_url" for part in content if isinstance(part, dict))


def test_the_parts_of_a_bench() -> None:
    heard, stub = Heard(), Stub(prompt_tokens=pictures_cost)
    found = measured(stub, heard=heard)
    assert heard.parts == [("warmup", 3), ("measured", 12)]
    assert [part for part, _ in heard.samples] == ["warmup"] * 3 + ["measured"] * 12
    assert (len(found.warmup), len(found.samples), found.figures.answered) == (3, 12, 12)
    assert found.picture_tokens == {(64, 64): 64}
    assert {(sample.image_tokens, sample.text_tokens) for sample in found.samples} == {(64, 20)}
    assert found.memory_peak_bytes is not None and found.memory_peak_bytes[0] == 100
    assert (found.invalid, found.notes) == ((), ())
    assert (found.judged, found.right) == (12, 0)
    assert found.figures.good is not None and found.figures.good.share.value == 1.0


def test_the_servers_view_agrees_when_it_does() -> None:
    view = measured(Stub(prompt_tokens=pictures_cost)).server
    assert {row.name: row.held for row in view.comparisons} == dict.fromkeys(
        ("requests", "prompt_tokens", "output_tokens", "first_token_s", "end_to_end_s"), Held.AGREES
    )
    assert view.preemptions == 0


def test_a_disagreement_is_said() -> None:
    """As when somebody else is served at the same time."""
    found = measured(Stub(miscount=2))
    assert [row.name for row in found.server.differs] == ["requests", "prompt_tokens", "output_tokens"]
    assert "server_differs" in found.notes


def test_an_endpoint_without_metrics_is_unknown_not_fine() -> None:
    class Bare(Stub):
        def metrics(self) -> str:
            return ""

    assert measured(Bare()).server.comparisons == ()


def test_an_image_cache_that_answers_is_said() -> None:
    class Cached(Stub):
        def metrics(self) -> str:
            self.totals["vllm:mm_cache_hits_total"] += 5
            return super().metrics()

    assert "picture_cache" in measured(Cached()).notes
    same = replace(SPEC, work=replace(WORK, same_pictures=True))
    assert "picture_cache" not in measured(Cached(), same).notes


def test_nothing_but_refusals_is_invalid() -> None:
    found = measured(Stub(lambda _n, _b: Programme(status=400)))
    assert found.invalid == ("nothing_answered",)
    assert json.dumps(bench_table(found), allow_nan=False)


def test_the_settings_make_the_same_bench_again() -> None:
    spec = replace(SPEC, extra=(("chat_template_kwargs", {"enable_thinking": False}),))
    assert spec_from(json.loads(json.dumps(spec_table(spec)))) == spec
    with pytest.raises((TypeError, KeyError)):
        spec_from({"pace": 3})


def test_the_table_is_json() -> None:
    table = json.loads(json.dumps(bench_table(measured(Stub())), allow_nan=False))
    assert table["valid"] is True
    assert table["figures"]["first_token_s"]["median"]["value"] == pytest.approx(0.05, abs=0.003)


def test_counters_of_a_real_page() -> None:
    page = """# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="demo"} 1234.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="demo"} 2.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="demo"} 3.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="demo"} 0.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="demo"} 1.5e-01
python_gc_objects_collected_total{generation="0"} 1.0
"""
    assert counters(page) == {
        "vllm:prompt_tokens_total": 1234.0,
        "vllm:request_success_total": 5.0,
        "vllm:time_to_first_token_seconds_sum": 0.15,
    }
