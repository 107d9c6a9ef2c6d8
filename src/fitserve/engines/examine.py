"""Whether an interpreter has an engine that works: it is really imported, in its own process, and asked once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fitserve.engines.child_output import child_output
from fitserve.facts.engine import EngineFacts
from fitserve.paths import cache_dir
from fitserve.text import tr

SCRIPT = Path(__file__).parent / "inside" / "examine.py"
MARK = "FITSERVE "
SECONDS = 300.0  # a first import compiles bytecode and reads 2 GB from the disk


@dataclass(frozen=True)
class Answer:
    """What an interpreter said of itself. `engine` is None where it has no vLLM; `problem` is None where untried."""

    engine: str | None
    version: str | None = None
    torch: str | None = None
    device: str | None = None
    problem: str | None = None
    schemas: bool = False
    unfinished: bool = False  # the import had not ended: `problem` says so, and whether it works is not known


class Examiner(Protocol):
    """Asks an interpreter; `quick` reads package metadata only."""

    def __call__(self, python: Path, *, quick: bool = False) -> Answer: ...


def examine(python: Path, *, quick: bool = False) -> Answer:
    """Ask the interpreter itself. Never raises for what it finds: an interpreter that can't start has a problem."""
    argv = [str(python), str(SCRIPT), *(["--quick"] if quick else [])]
    env = os.environ | {"VLLM_NO_USAGE_STATS": "1", "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    seconds = 60.0 if quick else SECONDS

    def waiting() -> None:
        import click

        click.echo(tr("engines.examining", python=python, seconds=int(seconds)), err=True)

    try:
        done = child_output(argv, env, seconds, waiting)
    except subprocess.TimeoutExpired as error:
        return Answer("vllm", problem=not_ended(error.timeout), unfinished=True)
    except OSError as error:
        return Answer(None, problem=f"{error.strerror or error}: {python}")
    return read(done.stdout) or Answer(None, problem=_last_line(done.stderr, done.code))


def not_ended(seconds: float) -> str:
    """That an import was given up; on a busy machine that says nothing of the engine."""
    load = os.getloadavg()[0]
    busy = load > (os.cpu_count() or 1)
    return tr(
        "engines.import_timeout_busy" if busy else "engines.import_timeout", seconds=int(seconds), load=f"{load:.0f}"
    )


def read(output: str) -> Answer | None:
    """The answer in what the script printed, None where there is none."""
    for line in reversed(output.splitlines()):
        if line.startswith(MARK):
            try:
                return Answer(**json.loads(line.removeprefix(MARK)))
            except (ValueError, TypeError):
                return None
    return None


def examine_cached(python: Path, *, quick: bool = False) -> Answer:
    """As `examine`, but a good answer is kept until the environment changes. What fails is tried again each time."""
    try:
        return Answer(**json.loads(_memory(python, quick).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        answer = examine(python, quick=quick)
        remember(python, answer, quick=quick)
        return answer


def remember(python: Path, answer: Answer, *, quick: bool = False) -> None:
    """Keep a good answer until the environment changes."""
    if answer.problem or not (quick or answer.engine):
        return
    with suppress(OSError):  # a memory that can't be written is only slower
        place = _memory(python, quick)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = place.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(vars(answer)), encoding="utf-8")
        draft.replace(place)


def _memory(python: Path, quick: bool) -> Path:
    name = hashlib.sha256(identity(python).encode()).hexdigest()[:24] + "q" * quick
    return cache_dir() / "engines" / f"{name}.json"


def facts(python: Path, answer: Answer, *, managed: bool, cpu_flags: frozenset[str] | None) -> EngineFacts:
    """The answer as engine facts, in the reader's language."""
    notes = [tr("engines.note_schemas")] if answer.schemas else []
    if answer.device == "cpu" and cpu_flags is not None and "avx512f" not in cpu_flags:
        notes.append(tr("engines.note_untested"))
    return EngineFacts(
        name=answer.engine or "vllm",
        version=answer.version,
        python=python,
        managed=managed,
        torch=answer.torch,
        device=answer.device,
        problem=answer.problem if answer.engine else answer.problem or tr("engines.no_vllm"),
        notes=tuple(notes),
        unfinished=answer.unfinished,
    )


def identity(python: Path) -> str:
    """Path and times of what changes when the environment does: interpreter, pyvenv.cfg, site-packages, our script."""
    return "\n".join(f"{path}:{path.stat().st_mtime_ns}" for path in _marks(python) if path.exists())


def _marks(python: Path) -> Iterator[Path]:
    root = python.parent.parent
    yield python
    yield SCRIPT
    yield root / "pyvenv.cfg"
    yield from sorted(root.glob("lib*/python3*/site-packages"))


def _last_line(stderr: str, code: int) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else tr("engines.import_died", code=code)
