"""What `up` takes its argument for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitserve.cli.up_target import target_name
from fitserve.errors import SettingsError
from fitserve.run.deployment import Deployment
from fitserve.run.registry import save


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


def test_folders_hubs_and_known_models(here: Path) -> None:
    (here / "My Model").mkdir()
    assert target_name("My Model", "") == ("my-model", str(here / "My Model"))
    assert target_name("./no/such/folder", "x") == ("x", str(here / "no/such/folder"))
    assert target_name("Qwen/Qwen3.5-9B", "") == ("qwen3.5-9b", "Qwen/Qwen3.5-9B")
    assert target_name("qwen3.5-35b-a3b-awq-4bit", "") == ("qwen3.5-35b-a3b-awq-4bit", "qwen3.5-35b-a3b-awq-4bit")
    assert target_name("demo", "") == ("demo", "demo")
    assert target_name("demo", "second") == ("second", "demo")


def test_a_folder_wins_over_a_hub_id(here: Path) -> None:
    (here / "Qwen/Qwen3.5-9B").mkdir(parents=True)
    assert target_name("Qwen/Qwen3.5-9B", "")[1] == str(here / "Qwen/Qwen3.5-9B")


def test_a_deployment_by_its_name() -> None:
    save(Deployment("shop", "/m", "shop", "127.0.0.1", 8000, ("python",), {}, "vllm 1"))
    assert target_name("shop", "") == ("shop", "")
    assert target_name("", "") == ("shop", "")
    save(Deployment("other", "/m", "other", "127.0.0.1", 8000, ("python",), {}, "vllm 1"))
    with pytest.raises(SettingsError, match="several"):
        target_name("", "")


@pytest.mark.parametrize("name", ["page-x", "UPPER", "a b"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(SettingsError):
        target_name("demo", name)


def test_a_second_name_serves_the_same_model_beside_it() -> None:
    for name, model in (("demo", "demo"), ("shop", "/m")):
        save(Deployment(name, model, name, "127.0.0.1", 8000, ("python",), {}, "vllm 1", wishes={"model": model}))
    assert target_name("demo", "second") == ("second", "demo")
    assert target_name("demo", "") == ("demo", "demo")
    assert target_name("shop", "second") == ("second", "/m")
    assert target_name("shop", "shop") == ("shop", "")
