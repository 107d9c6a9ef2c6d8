"""What `up` makes of a hub model: nothing is fetched that will not fit, and what is fetched is what is served."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hub_twin import Twin

from fitserve.cli.up_fetch import FetchLines, duration, hub_ref, nearer
from fitserve.cli.up_plan import Draft, drafted
from fitserve.cli.up_target import Wishes
from fitserve.clock import ManualClock
from fitserve.constants import VLLM_CPU_VERSION
from fitserve.errors import DoesNotFit, OperationFailed
from fitserve.facts.engine import EngineFacts
from fitserve.facts.hub_cache import find_snapshot
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.read import read_model

pytestmark = pytest.mark.process

ENGINE = EngineFacts("vllm-cpu", VLLM_CPU_VERSION, Path(sys.executable), managed=False, device="cpu")


def draft(model: str, **values: Any) -> Draft:
    return drafted(Wishes("one", model, values, {}), lambda: ENGINE, set(), nearer=nearer)


def weights_asked(twin: Twin) -> list[str]:
    """Requests for more than a header."""
    return [line for line in twin.asked if ".safetensors" in line and "index" not in line and " bytes=" not in line]


def test_too_large_is_said_before_a_byte_of_weights_comes(twin: Twin) -> None:
    with pytest.raises(DoesNotFit):
        draft("org/name", kv_cache_space=90000)
    assert twin.asked and not weights_asked(twin) and not Path(os.environ["HF_HOME"]).exists()


def test_a_known_model_that_does_not_fit_asks_nobody(twin: Twin) -> None:
    with pytest.raises(DoesNotFit):
        draft("qwen3.5-9b", kv_cache_space=90000)
    assert not twin.asked


@pytest.mark.parametrize("model", ["org/name", "modelscope:org/name"])
def test_what_is_served_is_the_local_copy(twin: Twin, model: str) -> None:
    plan = draft(model).plan
    folder = find_snapshot(hub_ref(model) or HubRef(Hub.HUGGING_FACE, ""))
    assert folder and plan.command[plan.command.index("--model") + 1] == str(folder)
    assert plan.model.name == "org/name"
    twin.asked.clear()
    assert draft(model).plan.command == plan.command and not twin.asked


def test_a_known_name_is_weighed_by_its_own_headers_then_fetched(twin: Twin) -> None:
    twin.model = "Qwen/Qwen3.5-9B"
    steps = nearer("qwen3.5-9b", read_model("qwen3.5-9b"))
    assert next(steps).source == twin.model and not weights_asked(twin)
    local = next(steps)
    assert Path(local.source).is_dir() and local.name == twin.model and weights_asked(twin)


def test_folders_are_left_alone(tmp_path: Path) -> None:
    assert hub_ref(str(tmp_path)) is None and hub_ref("./no/folder") is None


def test_a_damaged_checkpoint_is_not_started(twin: Twin) -> None:
    shard = twin.files["model-00002-of-00002.safetensors"]
    shard.head, shard.size = shard.head[:-100], shard.size - 100
    with pytest.raises(OperationFailed) as caught:
        draft("org/name")
    assert caught.value.code == "broken_model" and not weights_asked(twin)


def test_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    lines = FetchLines("org/name", clock, moving=False)
    lines.begin(Path("/cache"), 5, 100 * 1024**2, 10 * 1024**2)
    for step in range(1, 31):
        clock.sleep(1.0)
        lines.moved((10 + 2 * step) * 1024**2, 3)
    lines.note("model-1 came damaged")
    lines.moved(100 * 1024**2, 0)
    lines.close()
    assert capsys.readouterr().err.splitlines() == [
        "org/name: fetching 5 files, 100.0 MiB (10.0 MiB are here already), into /cache",
        "30.0 MiB of 100.0 MiB (30 %)  2.0 MiB/s  35 s left",
        "50.0 MiB of 100.0 MiB (50 %)  2.0 MiB/s  25 s left",
        "70.0 MiB of 100.0 MiB (70 %)  2.0 MiB/s  15 s left",
        "model-1 came damaged",
        "org/name is here: 100.0 MiB in 30 s",
    ]


def test_a_line_that_moves(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    lines = FetchLines("org/name", clock, moving=True)
    lines.begin(Path("/cache"), 1, 1024**2, 0)
    clock.sleep(1.0)
    lines.moved(1024, 1)
    lines.note("again")
    lines.moved(2048, 1)  # too soon
    clock.sleep(1.0)
    lines.moved(4096, 1)
    lines.close()
    assert capsys.readouterr().err.split("\n")[1:] == [
        "\r\x1b[K1.0 KiB of 1.0 MiB (0 %)  1.0 KiB/s  17:03 left\r\x1b[Kagain",
        "\r\x1b[K4.0 KiB of 1.0 MiB (0 %)  2.0 KiB/s  8:30 left",
        "",
    ]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (187, "3:07"), (3729, "1:02:09")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
