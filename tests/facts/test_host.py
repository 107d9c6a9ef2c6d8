"""The host: /proc, containers and their limits, read from recorded trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitserve.facts.cgroup import CgroupLimits, read_limits
from fitserve.facts.read_host import read_host
from fitserve.units import GIB


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def test_version_2_takes_the_tightest_limit_on_the_way(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/outer/memory.current": f"{5 * GIB}\n",
            "sys/fs/cgroup/outer/memory.stat": f"anon 1\ninactive_file {2 * GIB}\n",
            "sys/fs/cgroup/outer/inner/memory.max": "max\n",
            "sys/fs/cgroup/outer/inner/cpu.max": "150000 100000\n",
        },
    )
    assert read_limits(root) == CgroupLimits(8 * GIB, 3 * GIB, 2)


def test_version_1(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:memory:/docker/abc\n3:cpu:/docker/abc\n2:pids:/x\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GIB}\n",  # a container sees its own group at the top
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/memory.stat": f"total_inactive_file {GIB // 2}\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{2**63 - 4096}\n",
        },
    )
    assert read_limits(root) == CgroupLimits(4 * GIB, GIB // 2, None)


@pytest.mark.parametrize("content", ["", "garbage\n", "0::/../../etc\n", "0::\n"])
def test_no_limits(tmp_path: Path, content: str) -> None:
    assert read_limits(tree(tmp_path, {"proc/self/cgroup": content})) == CgroupLimits(None, None, None)


def test_a_host_in_a_small_container(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{GIB}\n",
            "sys/fs/cgroup/memory.current": f"{GIB // 4}\n",
            "proc/cpuinfo": "model name : Toy CPU\nflags : fpu avx2 avx512f\n\nprocessor : 1\nflags : no\n",
            "proc/version": "Linux version 5.15.167.4-microsoft-standard-WSL2",
        },
    )
    host = read_host(root, disk=tmp_path / "not" / "yet")
    assert (host.memory_total_bytes, host.memory_limit_bytes) == (GIB, GIB)
    assert host.memory_available_bytes <= GIB - GIB // 4
    assert (host.cpu_model, host.cpu_flags) == ("Toy CPU", frozenset({"fpu", "avx2", "avx512f"}))
    assert host.wsl and host.disk_free_bytes and host.shm_total_bytes is None


def test_the_real_host() -> None:
    host = read_host()
    assert 0 < host.memory_available_bytes <= host.memory_total_bytes and host.cores >= 1
    assert host.system and host.python.count(".") == 2


def test_the_compiler_is_cxx_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "mycxx"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert read_host().compiler == str(compiler)
    monkeypatch.setenv("CXX", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_host().compiler is None
