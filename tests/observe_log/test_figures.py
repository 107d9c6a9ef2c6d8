"""Figures in the shapes of several versions. Lines were typed from the format strings of vLLM and torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitserve.observe.log.figures import FigureReader
from fitserve.observe.log.stages import StageReader
from fitserve.stage import Stage

DATA = Path(__file__).parent.parent / "data" / "doctor" / "figures.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["line"][-40:] for case in CASES])
def test_figures_of_one_line(case):
    reader = FigureReader()
    reader.feed(case["line"])
    assert reader.figures == case["figures"]


def test_the_smallest_rank_and_the_first_failure_decide():
    reader = FigureReader()
    for gib in (8.1, 7.9, 8.0):
        reader.feed(f"INFO 01-01 00:00:00 [w.py:1] Available KV cache memory: {gib} GiB")
    for mib in (136, 2):
        reader.feed(f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {mib}.00 MiB.")
    assert reader.figures == {"available_kv_gib": 7.9, "asked_gib": 0.132812}


GPU = """(APIServer pid=1) INFO 09-18 11:00:00 [utils.py:299]  █ version 0.29.1
(EngineCore pid=60) INFO 09-18 11:00:01 [parallel_state.py:1065] rank 0 in world size 1 is assigned as DP rank 0
(EngineCore pid=60) INFO 09-18 11:00:40 [gpu_model_runner.py:5405] Model loading took 9.8 GiB memory and 40.1 seconds
(EngineCore pid=60) INFO 09-18 11:01:20 [gpu_worker.py:642] Available KV cache memory: 2.97 GiB
Capturing CUDA graphs (decode, FULL): 100%|##########| 35/35 [00:06<00:00]
(EngineCore pid=60) INFO 09-18 11:01:24 [model_runner.py:611] Graph capturing finished in 1 secs, took 0.46 GiB
(APIServer pid=1) INFO:     Application startup complete."""


def test_stages_come_in_order_and_once():
    reader = StageReader()
    entered = [reader.feed(line) for line in GPU.splitlines() for _ in range(2)]
    assert entered[::2] == [
        Stage.CONFIG, Stage.LOAD, Stage.PROFILE, Stage.KV_ALLOC, Stage.GRAPH_CAPTURE, Stage.WARMUP, Stage.SERVE,
    ]  # fmt: skip
    assert set(entered[1::2]) == {None}


def test_an_error_line_moves_nothing():
    reader = StageReader()
    assert reader.feed("ERROR 09-18 11:01:24 [core.py:1] Application startup complete.") is None
    assert reader.stage is None
