"""From a plan's command to what is started: interpreter, closed environment, threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.engines.launch import CLOSED, launch
from fitserve.engines.registry import engines
from fitserve.engines.vllm_cpu import bind, numa_nodes, tensor_parallel_size
from fitserve.facts.engine import EngineFacts

ENGINE = EngineFacts("vllm-cpu", "0.32.0", Path("/e/bin/python"), True, "2.13.0+cpu", "cpu", "")
COMMAND = ("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "org/model")


def test_the_interpreter_takes_its_place() -> None:
    assert launch(COMMAND, {}, ENGINE).argv == ("/e/bin/python", *COMMAND[1:])


def test_it_starts_closed_and_the_plan_wins() -> None:
    env = launch(COMMAND, {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_SERVER_DEV_MODE": "1"}, ENGINE).env
    assert {name: env[name] for name in CLOSED} == CLOSED | {"VLLM_SERVER_DEV_MODE": "1"}
    assert env["VLLM_CPU_KVCACHE_SPACE"] == "2"


def test_a_folder_is_served_offline_and_a_hub_model_is_not(tmp_path) -> None:
    local = launch((*COMMAND[:-1], str(tmp_path)), {}, ENGINE).env
    assert local["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in launch(COMMAND, {}, ENGINE).env


def test_ranks_get_cores_of_their_own(monkeypatch) -> None:
    monkeypatch.setattr("fitserve.engines.vllm_cpu.numa_nodes", lambda: 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 5, 6, 7})
    two = (*COMMAND, "--tensor-parallel-size", "2")
    assert launch(two, {}, ENGINE).env["VLLM_CPU_OMP_THREADS_BIND"] == "0,1|5,6"
    assert launch(two, {"VLLM_CPU_OMP_THREADS_BIND": "all"}, ENGINE).env["VLLM_CPU_OMP_THREADS_BIND"] == "all"
    assert "VLLM_CPU_OMP_THREADS_BIND" not in launch(COMMAND, {}, ENGINE).env
    gpu = replace(ENGINE, name="vllm", device="cuda")
    assert "VLLM_CPU_OMP_THREADS_BIND" not in launch(two, {}, gpu).env
    assert launch(two, {}, gpu).env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert launch(two, {}, replace(ENGINE, name="of-a-plug-in-that-is-gone")).argv[0] == "/e/bin/python"


@given(st.lists(st.integers(0, 200), unique=True, max_size=64), st.integers(1, 8))
def test_no_core_is_shared_and_shares_are_equal(cores, ranks) -> None:
    text = bind(sorted(cores), ranks)
    if len(cores) < ranks:
        assert text == "nobind"
        return
    shares = [set(share.split(",")) for share in text.split("|")]
    assert len(shares) == ranks
    assert len({len(share) for share in shares}) == 1
    assert len(set.union(*shares)) == sum(map(len, shares))


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("", 1),
        ("--tensor-parallel-size 2", 2),
        ("--tensor-parallel-size=4", 4),
        ("-tp 2", 2),
        ("--tensor-parallel-size 1 -tp 2", 2),
        ("-tp", 1),
        ("-tp two", 1),
    ],
)
def test_ranks_of_a_command(words, ranks) -> None:
    assert tensor_parallel_size(["python", *words.split()]) == ranks


def test_memory_nodes(tmp_path) -> None:
    assert numa_nodes(tmp_path) == 1
    for name in ("node0", "node1", "online"):
        (tmp_path / name).mkdir()
    assert numa_nodes(tmp_path) == 2


def test_the_built_ins_need_no_entry_points() -> None:
    assert list(engines())[:2] == ["vllm-cpu", "vllm"]
