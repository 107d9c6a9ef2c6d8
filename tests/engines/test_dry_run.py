"""What would be installed and how large it is: by the real pip from a small index, sizes from files and over HTTP."""

from __future__ import annotations

import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engines.wheelhouse import write_wheel
from fitserve.engines.dry_run import DryRun, Item, dry_run, read_report, size_of
from fitserve.errors import ToolMissing

pytestmark = pytest.mark.process


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        """Nobody reads it."""


@pytest.fixture
def gpu_index(tmp_path, monkeypatch):
    """Looks like an index with vllm 0.30.0, which asks for torch 2.13.0 and one CUDA library. Served on loopback."""
    root = tmp_path / "index"
    wheels = {
        "vllm": ("0.30.0", ("torch==2.13.0",)),
        "torch": ("2.13.0", ('nvidia-cublas==13.1.0 ; platform_system == "Linux"',)),
        "nvidia-cublas": ("13.1.0", ()),
    }
    for name, (version, requires) in wheels.items():
        folder = root / "simple" / name
        folder.mkdir(parents=True)
        write_wheel(folder, name, version, {f"{name.replace('-', '_')}.py": "x" * 1000}, requires)
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Quiet(*args, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield root
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_gpu_engine(gpu_index, tmp_path, heard) -> None:
    would = dry_run("vllm==0.30.0", heard, tmp_path / "log")
    assert {(item.name, item.version) for item in would.items} == {
        ("vllm", "0.30.0"),
        ("torch", "2.13.0"),
        ("nvidia-cublas", "13.1.0"),
    }
    assert would.known_bytes == sum(path.stat().st_size for path in gpu_index.rglob("*.whl"))
    assert next(would.lines()).startswith("vllm==0.30.0 would install 3 packages")
    assert not (tmp_path / "data/fitserve/engines").exists()


def test_a_version_that_does_not_exist(gpu_index, tmp_path, heard) -> None:
    with pytest.raises(ToolMissing) as caught:
        dry_run("vllm==9.9", heard, tmp_path / "log")
    assert "vllm==9.9" in caught.value.message
    assert "0.30.0" in (tmp_path / "log").read_text()


def test_sizes(tmp_path) -> None:
    file = tmp_path / "a b.whl"
    file.write_bytes(b"12345")
    assert size_of(file.as_uri()) == 5
    assert size_of((tmp_path / "gone.whl").as_uri()) is None
    assert size_of("http://127.0.0.1:1/never.whl") is None


def test_lines_name_the_largest_and_admit_the_unknown() -> None:
    items = tuple(Item(f"p{n}", "1", "", n * 2**20) for n in range(12))
    lines = list(DryRun("vllm==1", (*items, Item("q", "1", ""))).lines())
    assert "at least 66.0 MiB" in lines[0]
    assert "1 is not known" in lines[0]
    assert lines[1] == "  p11 1  11.0 MiB"
    assert "and 3 more" in lines[-1]


def test_a_report() -> None:
    row = {"metadata": {"name": "a", "version": "1"}, "download_info": {"url": "file:///a.whl"}, "requested": True}
    assert read_report(json.dumps({"version": "1", "install": [row]})) == [Item("a", "1", "file:///a.whl")]
