"""Logs in which the words of a failure stand beside it: requests that quote one, silence, what a traceback proves."""

from __future__ import annotations

import pytest

from fitserve.diagnose.engine import diagnose, watched
from fitserve.observe.log.read import read_lines

SERVED = [
    "(APIServer pid=1) INFO 07-14 09:12:31 [utils.py:299] vLLM API server version 0.22.1",
    "(APIServer pid=1) INFO:     Application startup complete.",
]
INFO = "(APIServer pid=1) INFO 07-14 09:20:00 [logger.py:42] "
QUOTED = [
    "No available memory for the cache blocks",
    "Free memory on device cuda:0 (1.6/23.6 GiB) on startup is less than desired GPU memory utilization",
    "the weight is not divisible by min_thread_k = 128",
    "content: !!!!!!!!!!!!",
    "To serve at least one request with the models's max seq len (4096), (2.0 GiB KV cache is needed, which is larger",
]


def judged(*log):
    return diagnose(read_lines([*SERVED, *log], watched()))


@pytest.mark.parametrize("words", QUOTED)
@pytest.mark.parametrize(
    "head", ["Received request cmpl-1: prompt: '", "Generated response cmpl-1 (streaming complete): output: '"]
)
def test_what_a_user_wrote_is_no_evidence(head, words):
    assert judged(f"{INFO}{head}{words}', params: x").findings == ()


def test_information_alone_is_never_fatal():
    assert judged(f"{INFO}No available memory for the cache blocks").findings == ()


def test_a_collector_that_calls_everything_info_hides_no_error():
    inner = "ERROR 07-14 09:20:00 [core.py:1099] ValueError: No available memory for the cache blocks."
    found = diagnose(read_lines([f'{{"level": "info", "log": "{inner}"}}'], watched()))
    assert found.findings[0].cause == "no_kv_memory"


SILENT = (
    "(EngineCore pid=9) INFO 07-14 09:21:33 [shm_broadcast.py:681] No available shared memory broadcast block found in "
    "60 seconds."
)
LATE = [
    "(EngineCore pid=9) ERROR 07-14 09:25:33 [core.py:1300] EngineCore encountered a fatal error.",
    "(EngineCore pid=9) ERROR 07-14 09:25:33 [core.py:1300] TimeoutError: RPC call to sample_tokens timed out.",
    "(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
]


def test_silence_that_ends_in_a_timeout_is_a_hang():
    first = judged(*[SILENT] * 4, *LATE).findings[0]
    assert (first.cause, first.severity) == ("multi_gpu_comm", "fatal")
    assert "NCCL_P2P_DISABLE" in first.fixes[0].env


def test_an_exception_in_the_engine_after_serving_is_a_death():
    line = "(EngineCore pid=9) ERROR 07-14 09:25:33 [core.py:1300] RuntimeError: nobody knows this sentence"
    first = judged(line).findings[0]
    assert (first.cause, first.severity, first.stage) == ("unknown", "fatal", "serve")


@pytest.mark.parametrize(
    ("function", "error", "cause"),
    [
        ("profile_run", "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072", ""),
        ("profile_run", "InductorError: OSError: No such file or directory: 'ptxas'", "toolchain_or_driver"),
        ("profile_run", "ValueError: type fp8e4nv not supported in this architecture.", "unsupported_capability"),
        ("profile_run", "RuntimeError: nobody knows this sentence", "unknown"),
    ],
)  # fmt: skip
def test_the_traceback_tells_the_stage(function, error, cause):
    head = "(EngineCore pid=9) ERROR 07-14 09:13:01 [core.py:1099] "
    lines = ["Traceback (most recent call last):", f'  File "/x/vllm/v1/worker/gpu.py", line 4, in {function}', error]
    found = diagnose(read_lines([head + line for line in lines], watched()))
    assert found.findings[0].cause == (cause or "unsupported_capability")
    assert found.stage == "profile"


def test_the_samplers_state_follows_the_requests():
    head = "(EngineCore pid=9) ERROR 07-14 09:13:01 [core.py:1099] "
    lines = [
        "Traceback (most recent call last):",
        '  File "/x/vllm/v1/worker/gpu/model_runner.py", line 4, in load_model',
        '  File "/x/vllm/v1/worker/gpu/sample/penalties.py", line 4, in __init__',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.79 GiB.",
    ]
    first = diagnose(read_lines([head + line for line in lines], watched())).findings[0]
    assert "--max-num-seqs" in first.fixes[0].set
    assert first.cause != "oom_weight_load"


def test_a_refused_argument_is_named():
    line = "vllm serve: error: argument --limit-mm-per-prompt/-x: Value {image:1} cannot be converted"
    found = diagnose(read_lines([line], watched()))
    assert (found.stage, found.findings[0].severity) == ("config", "fatal")
    assert found.findings[0].fixes[0].set == {"--limit-mm-per-prompt": None}


def test_unknown_flags_are_left_out():
    line = "vllm serve: error: unrecognized arguments: --max-cudagraph-capture-size 16 --skip-mm-profiling"
    first = diagnose(read_lines([line], watched())).findings[0]
    assert first.fixes[0].set == {"--max-cudagraph-capture-size": None, "--skip-mm-profiling": None}
