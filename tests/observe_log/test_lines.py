"""Every way a line can be wrapped gives the same parts; no line makes the parser fail."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.observe.log.lines import LIMIT, parse

TEXT = "Available KV cache memory: 7.02 GiB"
NEW = f"INFO 09-21 11:02:40 [gpu_worker.py:276] {TEXT}"


@pytest.mark.parametrize(
    "raw",
    [
        NEW,
        f"INFO 09-21 11:02:40 gpu_worker.py:276] {TEXT}",
        f"\x1b[32mINFO\x1b[0m 09-21 11:02:40 [gpu_worker.py:276] {TEXT}\r\n",
        f"vllm-1  | {NEW}",
        f"2026-09-21T11:02:40.123456789Z {NEW}",
        f"2026-09-21T11:02:40.123456789Z stderr F {NEW}",
        f"Sep 21 11:02:40 gpu-host vllm[812]: {NEW}",
        f"[rank0]: {NEW}",
        f"> {NEW}",
        f"my own prefix > {NEW}",
        json.dumps({"log": NEW + "\n", "stream": "stderr", "time": "2026-09-21T11:02:40Z"}),
        json.dumps({"MESSAGE": NEW, "_PID": "812"}),
    ],
)
def test_wrapped_lines_give_the_same_parts(raw):
    line = parse(7, raw)
    assert (line.number, line.level, line.time, line.source) == (7, "INFO", "09-21 11:02:40", "gpu_worker.py:276")
    assert line.text == TEXT


@pytest.mark.parametrize(
    ("owner", "process", "pid"),
    [
        ("(Worker_TP3_EP3 pid=901) ", "Worker_TP3_EP3", 901),
        ("(EngineCore_DP0 pid=2) ", "EngineCore_DP0", 2),
        ("(VllmWorker rank=1 pid=106) ", "VllmWorker rank=1", 106),
        ("(RayWorkerWrapper pid=348, ip=10.0.0.2) ", "RayWorkerWrapper", 348),
        ("vllm  | (APIServer pid=1) ", "APIServer", 1),
    ],
)
def test_the_writer_is_kept(owner, process, pid):
    assert parse(1, owner + NEW)[1:4] == (process, pid, "INFO")
    bare = parse(1, owner + '  File "x.py", line 3, in load_model')
    assert (bare.process, bare.pid, bare.level, bare.text[:6]) == (process, pid, "", "  File")


def test_json_format_of_vllm():
    record = {"asctime": "2026-01-01 00:00:01,5", "levelname": "ERROR", "process": 5, "processName": "EngineCore"}
    record["message"] = TEXT
    assert parse(3, json.dumps(record)) == (3, "EngineCore", 5, "ERROR", "2026-01-01 00:00:01,5", "", TEXT)


def test_uvicorn_notes_and_bars():
    assert parse(1, "INFO:     Application startup complete.")[3:] == ("INFO", "", "", "Application startup complete.")
    assert parse(1, "# nvidia-smi: 17 GiB used").level == "NOTE"
    assert parse(1, "# GPU blocks: 835, # CPU blocks: 606").level == ""
    assert parse(1, "Loading: 0%|\rLoading: 50%|#####     | 1/2").text == "Loading: 50%|#####     | 1/2"


@given(st.text(max_size=300))
def test_any_text_is_a_line(raw):
    assert parse(1, raw).number == 1


@given(st.sampled_from(["(", "{", "[rank", "a|", "\x1b[", "2026-01-01T", "INFO ", "vllm | "]), st.integers(1, 400))
def test_repeated_openings_end(opening, times):
    assert len(parse(1, opening * times * 10).text) <= LIMIT
