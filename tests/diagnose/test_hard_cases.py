"""Logs in which the words of a failure stand beside it: requests that quote one, silence, what a traceback proves."""

from __future__ import annotations

import pytest

from fitserve.diagnose.engine import diagnose, watched
from fitserve.observe.log.read import read_lines
from fitserve.text import tr

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


def first_of(*lines):
    return diagnose(read_lines(lines, watched())).findings[0]


def error(text, process="EngineCore pid=9"):
    return f"({process}) ERROR 07-14 09:13:01 [core.py:1099] {text}"


OUT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB. GPU 0 has a total capacity of 23.56 GiB "
    "of which 6.90 GiB is free. Of the allocated memory 16.10 GiB is allocated by PyTorch, and 90.00 MiB is reserved "
    "by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF="
)


def test_a_kernel_that_the_driver_does_not_know_needs_a_driver():
    first = first_of(error("torch.AcceleratorError: the provided PTX was compiled with an unsupported toolchain."))
    assert first.fixes[0].why == tr("fixes.newer_driver")


@pytest.mark.parametrize("text", ["Failed to infer device type", "No CUDA GPUs are available"])
def test_a_card_that_is_not_seen_is_made_visible(text):
    assert "--gpus" in first_of(error(f"RuntimeError: {text}")).fixes[0].why


def test_a_fixed_cache_is_made_smaller():
    first = first_of(
        "INFO 07-14 09:12:31 [utils.py:233] non-default args: {'kv_cache_memory_bytes': 12884901888}",
        error("Traceback (most recent call last):"),
        error('  File "/x/vllm/v1/worker/gpu_model_runner.py", line 4, in _allocate_kv_cache_tensors'),
        error(OUT),
    )
    assert 6 * 2**30 < first.fixes[0].set["--kv-cache-memory-bytes"] < 6.9 * 2**30


def test_the_fullest_card_decides():
    told = "Free memory on device cuda:{} ({}/23.56 GiB) on startup is less than desired GPU memory utilization "
    lines = [
        error(f"ValueError: {told.format(n, free)}(0.98, 23.09 GiB).", f"Worker_TP{n} pid={n + 1}")
        for n, free in enumerate(("22.9", "9.4"))
    ]
    assert "nvidia-smi" in first_of(*lines).fixes[0].why


def test_the_name_of_a_worker_tells_how_many_there_are():
    text = "ValueError: Weight output_partition_size = 4864 is not divisible by weight quantization block_n = 128."
    first = first_of(error(text, "Worker_TP3 pid=4"))
    assert any(fix.set.get("--pipeline-parallel-size") == 4 for fix in first.fixes)


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("ValueError: Tensor parallel size 16 is greater than the number of experts 8.", 8),
        ("AssertionError: 12 is not divisible by 8", 4),
    ],
)
def test_the_largest_split_that_the_message_allows(text, to):
    assert first_of(error(text)).fixes[0].set["--tensor-parallel-size"] == to


def test_reserved_memory_is_let_grow_in_segments():
    text = OUT.replace("12.00 GiB", "1.20 GiB").replace("90.00 MiB", "4.80 GiB")
    first = judged(error("EngineCore encountered a fatal error."), error(text)).findings[0]
    assert first.fixes[0].env == {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}


def test_transfers_that_find_no_memory_get_room():
    lines = [
        error("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, unhandled cuda error"),
        error("Cuda failure 2 'out of memory'"),
    ]
    assert "--gpu-memory-utilization" in judged(*lines).findings[0].fixes[0].set


def test_the_memory_of_several_others_is_summed():
    text = "GPU 0 has 1 GiB. Process 1 has 5.00 GiB memory in use. Process 2 has 512.00 MiB memory in use."
    assert read_lines([error(text)]).start.figures["other_process_gib"] == 5.5


KILLED = "[1234567.1] Memory cgroup out of memory: Killed process 4711 (VLLM::EngineCor) total-vm:211123456kB"


@pytest.mark.parametrize(
    "remark", ["# 运行三天后，内存从 20G 涨到 118G，最后被杀", "# memory rose from 20 GB to 118 GB"]
)
def test_what_grew_until_it_was_killed_is_growth(remark):
    assert judged(KILLED, remark).findings[0].cause == "memory_growth"


def test_no_advice_about_loading_while_serving():
    first = judged(KILLED).findings[0]
    assert first.cause == "host_ram"
    assert tr("fixes.one_model_at_a_time") not in [fix.why for fix in first.fixes]


@pytest.mark.parametrize(
    "text",
    [
        "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/mnt/models/x'.",
        "OSError: /mnt/models/x is not a local folder and is not a valid model identifier listed on the Hub",
    ],
)
def test_a_folder_that_is_not_there_is_named_as_one(text):
    first = first_of(error(text))
    assert (first.cause, first.fixes[0].why) == ("checkpoint_unavailable", tr("fixes.local_path"))


def test_the_largest_split_of_whole_tiles():
    text = "ValueError: Weight output_partition_size = 1216 is not divisible by weight quantization block_n = 128."
    first = first_of(error(text, "Worker_TP7 pid=4"))  # 1216 x 8 = 9728 = 76 tiles: 4 parts are whole
    assert first.fixes[0].set == {"--tensor-parallel-size": 4, "--pipeline-parallel-size": 2}


_API, _CORE = "(APIServer pid=5) ", "(EngineCore pid=7) ERROR 11-30 14:47:41 [core.py:1100] "
_SERVED = "ERROR 11-30 14:47:42 [async_llm.py:906] "
VANISHED = tuple(
    _API + line
    for line in (
        "INFO:     Application startup complete.",
        "WARNING 11-30 14:47:42 [core_client.py:817] [shutdown] MPClient: engine core exited unexpectedly; …",
        _SERVED + "AsyncLLM output_handler failed.",
        _SERVED + "Traceback (most recent call last):",
        _SERVED + "    raise self._format_exception(outputs) from None",
        _SERVED + "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. "
        "See stack trace (above) for the root cause.",
    )
)
OWN_WORDS = tuple(
    _CORE + line
    for line in (
        "EngineCore encountered a fatal error.",
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 144.00 MiB.",
    )
)


def test_a_core_that_ended_without_a_word_was_ended_from_outside():
    """Written by vLLM 0.32 when its core was killed with SIGKILL."""
    first = judged(*VANISHED).findings[0]
    assert (first.cause, first.confidence) == ("host_ram", "medium")
    assert "exited unexpectedly" in first.evidence[0].text


def test_a_core_that_said_why_is_believed():
    assert judged(VANISHED[0], *OWN_WORDS, *VANISHED[1:]).findings[0].cause == "oom_runtime"
