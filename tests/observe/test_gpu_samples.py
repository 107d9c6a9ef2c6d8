"""A sample of the cards: every figure, and None wherever a card, a driver or a container does not tell."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.nvml_twin import Process
from fitserve.clock import ManualClock
from fitserve.facts.gpu import GpuProcess
from fitserve.observe.gpu_samples import CardSample, NvmlSampler, reasons
from fitserve.observe.host_samples import sample_host, sample_process
from fitserve.units import GIB, MIB
from observe.sample_nvml import SampleNvmlTwin

QUESTIONS = ("memory", "memory_v2", "rates", "temperature", "threshold", "power", "power_limit", "clock", "max_clock")
ALWAYS = {"index", "name", "uuid"}


def sampler(twin: SampleNvmlTwin, root: Path = Path("/")) -> NvmlSampler:
    return NvmlSampler(twin, ManualClock(100.0), root)


def machine(root: Path, namespace: str = "pid:[4026531836]") -> Path:
    """A /proc with one process of ours, 7, in a pid namespace."""
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to(namespace)
    (root / "proc/7").mkdir()
    (root / "proc/7/comm").write_text("VLLM::Worker_TP0\n")
    (root / "proc/7/stat").write_text("7 (VLLM::W) (x) S 1 7 7 0 -1 0 0 0 0 0 250 50 0 0 20 0 9 0 5000 0 0\n")
    (root / "proc/7/statm").write_text("900 300 100 1 0 1 0\n")
    (root / "proc/meminfo").write_text("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n")
    return root


def test_a_card_in_full(tmp_path: Path) -> None:
    twin = SampleNvmlTwin(processes={0: [Process(7, 20 * GIB), Process(9, None)]})
    sample = sampler(twin, machine(tmp_path)).sample((7, 8))
    assert sample.at == 100.0
    assert sample.cards is not None
    assert sample.cards[0] == CardSample(
        index=0,
        name="NVIDIA GeForce RTX 3090",
        uuid="GPU-0000",
        total_bytes=24 * GIB,
        used_bytes=25295323136 - 23 * GIB,
        reserved_bytes=24 * GIB - 25295323136,
        busy_percent=87,
        memory_busy_percent=41,
        temperature_c=71,
        slows_down_at_c=95,
        power_w=349.5,
        power_limit_w=350.0,
        sm_clock_mhz=1695,
        sm_clock_max_mhz=2100,
        memory_clock_mhz=9751,
        slow_reasons=("power_cap",),
        processes=(GpuProcess(7, 20 * GIB, "VLLM::Worker_TP0"), GpuProcess(9, None, None)),
    )
    assert sample.cards[1].processes == ()
    assert sample.host == sample_host((7,), tmp_path)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_without_an_answer_is_unknown_and_costs_no_other(question: str) -> None:
    whole = sampler(SampleNvmlTwin()).sample().cards
    less = sampler(SampleNvmlTwin(silent={question})).sample().cards
    assert whole is not None
    assert less is not None
    changed = {f.name for f in fields(CardSample) if getattr(whole[0], f.name) != getattr(less[0], f.name)}
    assert changed
    assert {getattr(less[0], name) for name in changed if name != "used_bytes" or question == "memory"} == {None}


def test_a_card_that_tells_nothing_is_still_a_card() -> None:
    silent = {*QUESTIONS, "reasons", "processes"}
    cards = sampler(SampleNvmlTwin(silent=silent)).sample().cards
    assert cards is not None
    assert len(cards) == 2
    assert {getattr(cards[0], f.name) for f in fields(CardSample) if f.name not in ALWAYS} == {None}


def test_a_limit_of_zero_is_none() -> None:
    cards = sampler(SampleNvmlTwin(slows_down_at=0)).sample().cards
    assert cards is not None
    assert cards[0].slows_down_at_c is None


def test_the_older_memory_question_counts_the_reserve_among_the_used() -> None:
    cards = sampler(SampleNvmlTwin(silent={"memory_v2"})).sample().cards
    assert cards is not None
    assert cards[0].reserved_bytes is None
    assert cards[0].used_bytes == 1 * GIB


def test_without_a_driver_the_cards_are_unknown_and_the_host_is_not(tmp_path: Path) -> None:
    sample = sampler(SampleNvmlTwin(driver_away=True), machine(tmp_path)).sample((7,))
    assert sample.cards is None
    assert sample.host.total_bytes == 1000 * 1024
    assert sample.host.available_bytes == 400 * 1024


def test_a_driver_that_comes_back_is_asked_again() -> None:
    twin = SampleNvmlTwin()
    one = sampler(twin)
    assert one.sample().cards
    twin.silent |= {*QUESTIONS}
    assert one.sample().cards  # the cards it knew, silent
    twin.driver_away = True
    assert one.sample().cards is None
    twin.driver_away, twin.silent = False, set()
    cards = one.sample().cards
    assert cards is not None
    assert cards[0].temperature_c == 71
    assert twin.open == 1


def test_in_a_container_a_pid_is_not_named_after_a_stranger(tmp_path: Path) -> None:
    twin = SampleNvmlTwin(processes={0: [Process(7, 5 * MIB)]})
    cards = sampler(twin, machine(tmp_path, "pid:[4026532999]")).sample().cards
    assert cards is not None
    assert cards[0].processes == (GpuProcess(7, 5 * MIB, None),)


def test_a_process_with_any_name(tmp_path: Path) -> None:
    found = sample_process(7, machine(tmp_path))
    assert found is not None
    assert found.name == "VLLM::W) (x"
    assert found.rss_bytes == 300 * os.sysconf("SC_PAGE_SIZE")
    assert found.cpu_s == 300 / os.sysconf("SC_CLK_TCK")
    assert sample_process(8, tmp_path) is None


def test_a_container_has_its_limit_for_memory(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("512000\n")
    (tmp_path / "sys/fs/cgroup/memory.current").write_text("200000\n")
    host = sample_host((), tmp_path)
    assert (host.total_bytes, host.available_bytes) == (512000, 312000)


def test_a_host_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    host = sample_host((1,), tmp_path)
    assert (host.total_bytes, host.available_bytes, host.processes) == (None, None, ())


@given(st.integers(0, 2**64 - 1))
def test_every_reason_has_a_name(bits: int) -> None:
    found = reasons(bits)
    assert len(found) == len(set(found)) == bits.bit_count()


def test_this_machine_answers() -> None:
    sample = NvmlSampler().sample((os.getpid(),))
    assert sample.host.total_bytes
    assert [process.pid for process in sample.host.processes] == [os.getpid()]
