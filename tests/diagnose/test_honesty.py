"""What the doctor must never do: name a wrapper, fix what the stage can't use, invent a figure, fight itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitserve.diagnose.engine import Stated, diagnose, watched
from fitserve.diagnose.finding import UNKNOWN, Severity
from fitserve.observe.log.read import read_lines
from fitserve.observe.log.source import lines_of, open_log
from fitserve.text import choose_language

HEALTHY = sorted((Path(__file__).parent.parent / "data" / "doctor" / "healthy").glob("*"))
LOAD_OOM = """(Worker_TP0 pid=6) INFO 09-18 11:00:20 [parallel_state.py:12] rank 0 in world size 2 is assigned as DP rank 0
(Worker_TP0 pid=6) ERROR 09-18 11:01:25 [multiproc_executor.py:971]   File "/x/vllm/v1/worker/gpu_worker.py", line 3, in load_model
(Worker_TP0 pid=6) ERROR 09-18 11:01:25 [multiproc_executor.py:971] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB."""  # noqa: E501 - a log
WRAPPER = """(EngineCore pid=6) ERROR 09-18 11:01:25 [core.py:1] EngineCore failed to start.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"""


def said(log, **stated):
    return diagnose(read_lines(log.split("\n"), watched()), Stated(**stated))


@pytest.fixture(autouse=True)
def english():
    choose_language("en")
    yield
    choose_language("auto")


def test_no_utilization_for_weights_that_do_not_fit():
    first = said(LOAD_OOM).findings[0]
    assert first.cause == "oom_weight_load"
    assert all("--gpu-memory-utilization" not in fix.set for fix in first.fixes)


def test_a_wrapper_is_no_answer():
    first = said(WRAPPER).findings[0]
    assert first.cause == UNKNOWN
    assert "tee start.log" in first.fixes[0].why


def test_no_flag_that_the_version_does_not_know():
    log = LOAD_OOM.replace("load_model", "capture_model")
    old = said("INFO 05-01 12:00:00 [api_server.py:1] vLLM API server version 0.9.2\n" + log).findings[0]
    assert all("--max-cudagraph-capture-size" not in fix.set for fix in old.fixes)


def test_without_figures_nothing_is_predicted_and_the_reason_is_told():
    fixes = [fix for fix in said(LOAD_OOM).findings[0].fixes if fix.set]
    assert all(fix.predicted is None and "No prediction" in fix.why for fix in fixes)


def test_predicted_pool_follows_from_the_figures():
    log = """(E pid=6) INFO 09-18 11:01:20 [gpu_worker.py:642] Available KV cache memory: 7.00 GiB
(E pid=6) INFO 09-18 11:01:20 [kv.py:2] GPU KV cache size: 70,000 tokens
(E pid=6) ERROR 09-18 11:01:25 [core.py:12] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 20.00 GiB of which 100.00 MiB is free."""  # noqa: E501 - a log
    fix = said(log, settings={"--gpu-memory-utilization": 0.95}).findings[0].fixes[0]
    assert fix.set == {"--gpu-memory-utilization": 0.93}
    assert fix.predicted == {"available_kv_gib": 6.6, "was_gib": 7.0, "kv_tokens": 66000}


def test_the_last_start_counts_and_the_others_are_listed():
    start = "(APIServer pid={pid}) INFO 09-18 11:00:01 [utils.py:2] vLLM API server version 0.19.0\n"
    log = start.format(pid=1) + LOAD_OOM + "\n" + start.format(pid=2) + LOAD_OOM.replace("load_model", "profile_run")
    diagnosis = said(log)
    assert [finding.cause for finding in diagnosis.findings] == ["oom_profile_activation"]
    assert [start["failed"] for start in diagnosis.starts] == [True]
    begun = said(log + "\n" + start.format(pid=3))
    assert begun.findings[0].cause == "oom_profile_activation"
    assert begun.notes


def test_an_ordered_shutdown_is_no_failure():
    log = """INFO:     Application startup complete.
(APIServer pid=1) INFO 11-30 09:26:43 [launcher.py:254] [shutdown] API server: shutdown triggered
(APIServer pid=1) ERROR 11-30 09:26:43 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."""  # noqa: E501 - a log
    assert said(log).findings == ()


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.name)
def test_healthy_logs_give_no_more_than_a_remark(path):
    with open_log(path) as stream:
        diagnosis = diagnose(read_lines(lines_of(stream), watched()))
    assert [item for item in diagnosis.findings if item.severity is not Severity.INFO] == []


def test_a_port_of_nccls_own_is_nobodys_failure():
    log = """h:1:1 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use
INFO:     Application startup complete."""
    assert said(log).findings == ()


SERVING = """(APIServer pid=1) INFO 09-18 11:00:01 [utils.py:2] vLLM API server version 0.22.1
HF_HUB_OFFLINE=1
(Worker_TP0 pid=6) WARNING 09-18 11:00:02 [__init__.py:9] Failed to import from vllm._C with ImportError('libcudart.so.12: cannot open shared object file: No such file or directory')
INFO:     Application startup complete.
(APIServer pid=1) ERROR 09-18 11:05:00 [serving_chat.py:2] Traceback (most recent call last):
(APIServer pid=1) ERROR 09-18 11:05:00 [serving_chat.py:2] json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
(APIServer pid=1) ERROR 09-18 11:06:00 [serving_chat.py:2] TypeError: parse() got an unexpected keyword argument 'tools'
(APIServer pid=1) ERROR 09-18 11:07:00 [serving_chat.py:2] KeyError: 'qwen3_coder'
INFO:     127.0.0.1:50020 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request"""  # noqa: E501 - a log


def test_a_clients_mistake_is_no_failure_of_the_service():
    assert [item.cause for item in said(SERVING).findings if item.severity is Severity.FATAL] == []
