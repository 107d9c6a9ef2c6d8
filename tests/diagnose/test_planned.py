"""Fixes go through the plan where the model's facts are known."""

from __future__ import annotations

import pytest

from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.planned import PlanPredictor, cards_of
from fitserve.facts.known_models import read_known
from fitserve.observe.log.read import read_lines

LOG = """(APIServer pid=1) INFO 09-18 11:00:01 [utils.py:299] vLLM API server version 0.33.0
(APIServer pid=1) INFO 09-18 11:00:01 [utils.py:233] non-default args: {'model': 'm', 'max_model_len': 32768}
(EngineCore pid=60) INFO 09-18 11:00:40 [model_runner.py:428] Model loading took 22.3 GiB and 40.1 seconds
(EngineCore pid=60) ERROR 09-18 11:01:25 [core.py:1290]   File "/x/vllm/v1/worker/gpu/model_runner.py", line 4, in profile_cudagraph_memory
(EngineCore pid=60) ERROR 09-18 11:01:25 [core.py:1290] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 528.00 MiB. GPU 0 has a total capacity of 31.40 GiB of which 120.00 MiB is free."""  # noqa: E501 - a log


@pytest.fixture(scope="module")
def model():
    return read_known("qwen3.5-35b-a3b-awq-4bit")


def fixes(model, log, **settings):
    reading = read_lines(log.split("\n"), watched())
    predictor = PlanPredictor(model, cards_of(reading.start.figures, 1))
    return diagnose(reading, Stated(settings), predictor).findings[0].fixes


def test_the_probe_shrinks_and_the_rest_is_weighed(model):
    first = fixes(model, LOG)[0]
    assert first.set == {"--max-num-seqs": 8}
    assert first.predicted["fits"] is True
    assert first.predicted["graph_probe_gib"] < 0.5 < 5 < first.predicted["was_graph_probe_gib"]
    assert first.predicted["available_kv_gib"] > first.predicted["was_available_kv_gib"]


def test_what_the_plan_refuses_is_left_out_where_something_fits(model):
    assert all(fix.predicted["fits"] for fix in fixes(model, LOG) if fix.predicted)


def test_a_plan_that_sees_no_problem_says_nothing(model):
    fitting = LOG.replace("31.40 GiB", "79.10 GiB")
    assert all((fix.predicted or {}).get("basis") != "plan" for fix in fixes(model, fitting))


def test_an_engine_that_the_plan_does_not_know_is_not_weighed(model):
    old = LOG.replace("0.33.0", "0.11.0")
    assert all((fix.predicted or {}).get("basis") != "plan" for fix in fixes(model, old))


def test_measured_beside_planned(model):
    log = """(A pid=1) INFO 09-18 11:00:01 [utils.py:2] vLLM API server version 0.22.1
(W pid=6) INFO 09-18 11:00:40 [gpu_model_runner.py:48] Model loading took 22.40 GiB memory and 40.1 seconds
(W pid=6) INFO 09-18 11:01:20 [gpu_worker.py:46] Available KV cache memory: 7.9 GiB"""
    reading = read_lines(log.split("\n"), watched())
    cards = cards_of({"total_gib": 47.3}, 1)
    diagnosis = diagnose(reading, Stated({"--max-model-len": 4096}), PlanPredictor(model, cards))
    rows = {row["item"]: row for row in diagnosis.ledger}
    assert abs(rows["weights_gib"]["planned"] - 22.40) < 0.05
    assert diagnosis.figures["stage_seconds"] == {"config": 39.0, "profile": 40.0}


def test_up_may_try_what_fits(model):
    from fitserve.diagnose.advice import memory_fix

    reading = read_lines(LOG.split("\n"), watched())
    predictor = PlanPredictor(model, cards_of(reading.start.figures, 1))
    fix = memory_fix(diagnose(reading, Stated(), predictor))
    assert fix is not None
    assert fix.set == {"--max-num-seqs": 8}
    assert memory_fix(diagnose(read_lines(["Killed"], watched()))) is None
