"""`fitserve doctor` as a person types it: three parts, JSON, exit codes, every way to hand a log in."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import pytest

from fitserve.cli.app import app
from fitserve.cli.failure import told

LOG = """(APIServer pid=1) INFO 09-18 11:00:01 [utils.py:299] vLLM API server version 0.19.0
(EngineCore pid=60) ERROR 09-18 11:01:25 [core.py:12] ValueError: No available memory for the cache blocks.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "start.log"
    path.write_text(LOG)
    return path


def run(capsys, *args):
    code = told(app, list(args))
    return code, *capsys.readouterr()


def test_json_is_one_document(capsys, log):
    code, out, _ = run(capsys, "doctor", str(log), "--json", "--args", "--gpu-memory-utilization 0.5")
    document = json.loads(out)
    assert code == 5
    assert document["kind"] == "diagnosis"
    assert document["stage"] == "kv_alloc"
    assert document["engine_version"] == "0.19.0"
    finding = document["findings"][0]
    assert finding["cause"] == "no_kv_memory"
    assert finding["evidence"][0]["line"] == 2
    assert {"set", "env", "why", "predicted"} == finding["fixes"][0].keys()
    assert document["settings"] == {"--gpu-memory-utilization": 0.5}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_three_parts_and_the_engines_own_line(capsys, log, language):
    code, out, _ = run(capsys, "--lang", language, "doctor", str(log))
    assert code == 5
    assert "ValueError: No available memory for the cache blocks." in out
    assert ("What to change" if language == "en" else "怎么改") in out
    assert ("Evidence" if language == "en" else "证据") in out


@pytest.mark.parametrize(("threshold", "code"), [("fatal", 5), ("never", 0), ("warn", 5)])
def test_fail_on(capsys, log, threshold, code):
    assert run(capsys, "doctor", str(log), "--fail-on", threshold)[0] == code


def test_gzip_and_standard_input(capsys, tmp_path, monkeypatch):
    packed = tmp_path / "start.log.gz"
    packed.write_bytes(gzip.compress(LOG.encode()))
    assert run(capsys, "doctor", str(packed))[0] == 5
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(LOG.encode()))))
    assert run(capsys, "doctor", "-")[0] == 5


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nothing-of-this-name"], 3),
        (["--example", "nope"], 3),
        (["--gpus", "many", "--example", "graph-probe"], 2),
        (["--args", "--x 'open", "--example", "graph-probe"], 2),
    ],
)
def test_what_can_not_be_done_has_its_code(capsys, args, code):
    assert run(capsys, "doctor", *args)[0] == code


def test_empty_and_folder(capsys, tmp_path):
    (tmp_path / "empty.log").touch()
    assert run(capsys, "doctor", str(tmp_path / "empty.log"))[0] == 1
    assert run(capsys, "doctor", str(tmp_path))[0] == 2


def test_nothing_named_and_nothing_given_is_a_usage_error(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    code, _, err = run(capsys, "doctor")
    assert code == 2
    assert "fitserve doctor --example graph-probe" in err
    assert run(capsys, "doctor", "-")[0] == 1


def test_every_example_is_explained(capsys):
    from fitserve.cli.doctor_source import examples

    assert examples()[0] == "graph-probe"
    for name in examples():
        code, out, _ = run(capsys, "doctor", "--example", name, "--json", "--fail-on", "warn")
        assert code == 5
        assert json.loads(out)["findings"][0]["cause"] != "unknown"


def test_a_log_writes_nothing_on_the_terminal_but_text(capsys, tmp_path):
    path = tmp_path / "evil.log"
    path.write_text("\x1b]0;title\x07\x1b[2J" + LOG + "ValueError: [red]\x1b[31mboo\x1b[0m \u202egnp\n")
    _, out, _ = run(capsys, "doctor", str(path))
    assert "\x1b]" not in out
    assert "\u202e" not in out


def test_no_heavy_import():
    heavy = "('torch', 'vllm', 'rich', 'httpx2')"
    code = f"import sys, fitserve.cli.doctor_source; print([m for m in sys.modules if m in {heavy}])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
