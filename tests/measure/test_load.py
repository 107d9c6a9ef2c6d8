"""The generator against an endpoint with programmed latencies, on virtual time: every figure has a known answer."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from sse_server import Endpoint as Stub
from sse_server import Programme
from virtual_time import run_virtually

from fitserve.chat.endpoint import Endpoint
from fitserve.measure.load import Asking, Load, Pace, Ran
from fitserve.measure.sample import Sample
from fitserve.measure.workload import Workload, scripts

SLACK_S = 0.002  # the selector's resolution is a millisecond


async def loaded(stub: Stub, pace: Pace, work: Workload, stop_after: int | None = None) -> Ran:
    stop = asyncio.Event()
    heard: list[Sample] = []

    def hear(sample: Sample) -> None:
        heard.append(sample)
        if len(heard) == stop_after:
            stop.set()

    async with await stub.serve() as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        asking = Asking(Endpoint(url, "stub"), work.output_tokens, limit_s=3.0)
        ran = await Load(asking, pace, hear).run(list(scripts(work)), stop, seed=work.seed)
    assert tuple(heard) == ran.samples
    return ran


def text_only(**changes) -> Workload:
    return Workload(pictures=0, **{"output_tokens": None, **changes})


def test_every_latency_is_the_programmed_one() -> None:
    stub = Stub(lambda number, _body: Programme(first_s=0.1 * (number + 1), gap_s=0.02, tokens=6))
    ran = run_virtually(loaded(stub, Pace(users=1), text_only(conversations=4)))
    for number, sample in enumerate(ran.samples):
        assert sample.first_token_s == pytest.approx(0.1 * (number + 1), abs=SLACK_S)
        assert sample.time_per_token_s == pytest.approx(0.02, abs=SLACK_S)
        assert sample.gaps_s == pytest.approx([0.02] * 5, abs=SLACK_S)
        assert sample.end_to_end_s == pytest.approx(0.1 * (number + 1) + 0.1, abs=2 * SLACK_S)
        assert (sample.prompt_tokens, sample.completion_tokens, sample.finish_reason) == (20, 6, "stop")
        assert sample.answer == "word " * 6
    assert ran.unfinished == 0


def test_a_closed_loop_keeps_its_users_busy_and_no_more() -> None:
    ran = run_virtually(loaded(Stub(), Pace(users=3), text_only(conversations=12)))
    moments = sorted([(sample.sent_s, 1) for sample in ran.samples] + [(sample.ended_s, -1) for sample in ran.samples])
    running, highest = 0, 0
    for _, change in moments:
        running += change
        highest = max(highest, running)
    assert highest == 3
    assert ran.seconds == pytest.approx(4 * 0.12, abs=8 * SLACK_S)


def test_an_open_loop_sends_at_its_own_times_whatever_the_server_does() -> None:
    pace, work = Pace(rate=10.0), text_only(conversations=30, seed=3)
    ran = run_virtually(loaded(Stub(lambda _n, _b: Programme(first_s=1.0)), pace, work))
    due = pace.arrivals(30, 3)
    samples = sorted(ran.samples, key=lambda sample: sample.conversation)
    assert [sample.sent_s for sample in samples] == pytest.approx(due, abs=SLACK_S * 4)
    assert [sample.due_s for sample in samples] == pytest.approx(due, abs=1e-6)


def test_arrivals_are_poisson_at_the_rate() -> None:
    due = Pace(rate=8.0).arrivals(4000, 1)
    gaps = [after - before for before, after in pairwise(due)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(1 / 8, rel=0.05)
    assert spread == pytest.approx(mean, rel=0.06)  # an exponential's deviation is its mean


def test_exactly_so_many_tokens_are_asked_for() -> None:
    stub = Stub()
    ran = run_virtually(loaded(stub, Pace(users=2), text_only(conversations=2, output_tokens=17)))
    assert {sample.completion_tokens for sample in ran.samples} == {17}
    assert all(request["ignore_eos"] and request["max_tokens"] == 17 for request in stub.seen)


def test_later_turns_carry_the_answers_so_far() -> None:
    stub = Stub(lambda number, _body: Programme(text=f"answer{number} ", tokens=1))
    ran = run_virtually(loaded(stub, Pace(users=1), text_only(conversations=1, turns=3)))
    assert [sample.turn for sample in ran.samples] == [0, 1, 2]
    assert [message["role"] for message in stub.seen[2]["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert stub.seen[2]["messages"][3]["content"] == "answer1 "


def test_failures_are_counted_by_kind_and_the_load_goes_on() -> None:
    programmes = [Programme(status=503), Programme(breaks=True), Programme(status=400), Programme(first_s=9.0)]
    stub = Stub(lambda number, _body: programmes[number] if number < 4 else Programme())
    ran = run_virtually(loaded(stub, Pace(users=1), text_only(conversations=6)))
    kinds = [sample.error for sample in ran.samples]
    assert kinds == ["endpoint_not_ready", "endpoint_broken_off", "endpoint_refused", "slow_total", "", ""]
    assert "programmed refusal" in ran.samples[0].evidence
    assert ran.samples[0].end_to_end_s is None


def test_nobody_there_is_an_error_not_a_wait() -> None:
    async def nowhere() -> Ran:
        asking = Asking(Endpoint("http://127.0.0.1:9", "stub"))
        return await Load(asking, Pace(users=2)).run(list(scripts(text_only(conversations=4))), asyncio.Event())

    assert {sample.error for sample in asyncio.run(nowhere()).samples} == {"endpoint_unreachable"}


def test_a_stop_keeps_what_is_done() -> None:
    ran = run_virtually(loaded(Stub(), Pace(users=2), text_only(conversations=50), stop_after=6))
    assert 6 <= len(ran.samples) <= 8
    assert ran.unfinished == 50 - len(ran.samples)
    assert all(sample.ok for sample in ran.samples)


def test_a_sample_survives_json() -> None:
    ran = run_virtually(loaded(Stub(), Pace(users=1), text_only(conversations=1)))
    (sample,) = ran.samples
    again = Sample.from_table({**sample.table(), "later_key": 1})
    assert again.table() == sample.table()


def test_pictures_travel() -> None:
    stub = Stub()
    work = Workload(conversations=2, sizes=((64, 64),), output_tokens=None)
    ran = run_virtually(loaded(stub, Pace(users=1), work))
    assert all(sample.pictures == 1 for sample in ran.samples)
    assert stub.seen[0]["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_many_at_once_lose_nothing() -> None:
    stub = Stub(lambda number, _body: Programme(0.01, 0.001, tokens=random.Random(number).randrange(1, 40)))
    ran = run_virtually(loaded(stub, Pace(users=40), text_only(conversations=120)))
    assert sorted(sample.conversation for sample in ran.samples) == list(range(120))
    assert all(len(sample.times_s) == sample.completion_tokens for sample in ran.samples)
