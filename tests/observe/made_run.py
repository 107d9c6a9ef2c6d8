"""A run of two cards as it could be, made by arithmetic (not recorded): twenty minutes of load on one service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample, Sample
from fitserve.observe.host_samples import HostSample, ProcessSample
from fitserve.observe.metrics import Metrics
from fitserve.observe.moments import Moment, Service
from fitserve.units import GIB, MIB

Change = Callable[[float, CardSample], CardSample]


def unchanged(_second: float, card: CardSample) -> CardSample:
    return card


def made_run(seconds: int = 1200, every_s: int = 10, change: Change = unchanged) -> list[Moment]:
    """`change` bends a card's sample at a time."""
    return [made_moment(second, change) for second in range(0, seconds, every_s)]


def made_moment(second: float, change: Change = unchanged) -> Moment:
    cards = tuple(change(second, card(index)) for index in range(2))
    host = HostSample(64 * GIB, 40 * GIB, (ProcessSample(11, "VLLM::EngineCor", 3 * GIB, second * 1.5),))
    return Moment(Sample(1.7e9 + second, cards, host), (service(second),))


def card(index: int) -> CardSample:
    return CardSample(
        index=index,
        name="NVIDIA GeForce RTX 3090",
        uuid=f"GPU-000{index}",
        total_bytes=24 * GIB,
        used_bytes=21 * GIB,
        reserved_bytes=450 * MIB,
        busy_percent=95,
        memory_busy_percent=60,
        temperature_c=70,
        slows_down_at_c=95,
        power_w=330.0,
        power_limit_w=350.0,
        sm_clock_mhz=1700,
        sm_clock_max_mhz=2100,
        memory_clock_mhz=9501,
        slow_reasons=(),
        processes=(GpuProcess(21 + index, 20 * GIB, f"VLLM::Worker_TP{index}"),),
    )


def service(second: float) -> Service:
    done = second // 2
    values = {
        "running": 3.0,
        "waiting": 1.0,
        "kv_usage": 0.42,
        "prompt_tokens": 900 * done,
        "generation_tokens": 100 * done,
        "finished": done,
        "preemptions": 0.0,
        "prefix_asked": 900 * done,
        "prefix_hits": 90 * done,
        "picture_asked": done,
        "picture_hits": done / 2,
    }
    histograms = {
        "first_token": ((0.1, 0.0), (0.25, done * 0.8), (0.5, done), (None, done)),
        "per_token": ((0.01, 50 * done), (0.025, 99 * done), (None, 99 * done)),
    }
    planned = {"context": GIB // 2, "weights": 12 * GIB, "kv_pool": 8 * GIB}
    return Service(
        "lead",
        "http://127.0.0.1:8000",
        "answering",
        Metrics(values, histograms),
        pids=(11,),
        cards=(0, 1),
        planned=planned,
        measured={"weights": 12 * GIB + 5 * MIB},
    )


def stopped(moment: Moment) -> Moment:
    """The same moment with the engine away."""
    return replace(moment, services=tuple(replace(one, state="starting", metrics=None) for one in moment.services))
