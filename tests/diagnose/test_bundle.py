"""The archive holds what a diagnosis needs and nothing that concerns nobody."""

from __future__ import annotations

import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.cli.app import app
from fitserve.cli.doctor_probe import picture
from fitserve.cli.failure import told
from fitserve.diagnose.redact import Redactor

SECRETS = {
    "INFO 01-01 00:00:00 [a.py:1] token=hf_AbCdEfGhIjKlMnOpQrStUv ok": "hf_AbCdEf",
    "Authorization: Bearer abc123def456": "abc123def456",
    "non-default args: {'api_key': ['sk-verysecretvalue'], 'max_num_seqs': 4}": "verysecret",
    "(APIServer pid=1) INFO [logger.py:39] Received request chatcmpl-1: prompt: 'my medical letter', params": "medical",
    'File "/home/marie/work/models/x/config.json"': "marie",
    "connect to 192.168.17.4:8000 failed": "192.168.17.4",
    "https://me:pw123@mirror.example.org/x": "pw123",
    "mail to jane.doe@example.org": "jane.doe",
    "running on gpuhost7 as worker": "gpuhost7",
}


@pytest.mark.parametrize(("line", "secret"), SECRETS.items())
def test_secrets_are_hidden(line, secret):
    assert secret not in Redactor(("gpuhost7",)).line(line)


@pytest.mark.parametrize(
    "line",
    [
        "(Worker_TP0 pid=7) INFO 09-18 11:01:20 [gpu_worker.py:462] Available KV cache memory: 7.02 GiB",
        "ValueError: max_num_seqs (256) exceeds available Mamba cache blocks (95).",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB.",
    ],
)
def test_what_a_diagnosis_needs_stays(line):
    assert Redactor().line(line) == line


@given(st.text(max_size=500))
def test_any_line_can_be_redacted(line):
    Redactor(("host",)).line(line)


def test_archive(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    log = tmp_path / "start.log"
    log.write_text("token: hf_AbCdEfGhIjKlMnOpQrStUv\nValueError: No available memory for the cache blocks.\n")
    out = tmp_path / "bundle.tgz"
    assert told(app, ["doctor", str(log), "--bundle", str(out)]) == 5
    assert "log.txt" in capsys.readouterr().err
    with tarfile.open(out) as archive:
        content = {entry.name: archive.extractfile(entry).read().decode() for entry in archive}
    assert "No available memory" in content["fitserve-doctor/log.txt"]
    assert "hf_AbCd" not in "".join(content.values())
    assert json.loads(content["fitserve-doctor/diagnosis.json"])["findings"][0]["cause"] == "no_kv_memory"


def test_pictures_are_pictures():
    from PIL import Image

    with Image.open(io.BytesIO(picture(64))) as image:
        assert image.size == (64, 64)
        image.load()
