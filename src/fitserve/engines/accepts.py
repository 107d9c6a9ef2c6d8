"""Whether an engine takes a command's flags: its own parser is asked, in its own process, and nothing is started."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fitserve.engines.child_output import child_output
from fitserve.engines.examine import MARK, identity, not_ended
from fitserve.paths import cache_dir

SCRIPT = Path(__file__).parent / "inside" / "accepts.py"
_SECONDS = 300.0  # vLLM is imported for it


@dataclass(frozen=True)
class Accepted:
    """`refusal` is the parser's own complaint, "" where it takes the flags, None where it could not be asked."""

    refusal: str | None
    problem: str = ""  # why it could not be asked


def accepts(python: Path, command: Sequence[str], waiting: Callable[[], None] = lambda: None) -> Accepted:
    """Ask about a plan's command (`python -m MODULE FLAGS…`). An answer is kept until the environment changes."""
    argv = list(command[3:])
    kept = _memory(python, argv)
    with suppress(OSError, ValueError, TypeError):
        return Accepted(**json.loads(kept.read_text(encoding="utf-8")))
    answer = _asked(python, argv, waiting)
    if answer.refusal is not None:
        with suppress(OSError):  # a memory that can't be written is only slower
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = kept.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(vars(answer)), encoding="utf-8")
            draft.replace(kept)
    return answer


def _asked(python: Path, argv: list[str], waiting: Callable[[], None]) -> Accepted:
    env = os.environ | {"VLLM_NO_USAGE_STATS": "1", "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    try:
        done = child_output([str(python), str(SCRIPT), *argv], env, _SECONDS, waiting)
    except subprocess.TimeoutExpired:
        return Accepted(None, not_ended(_SECONDS))
    except OSError as error:
        return Accepted(None, f"{error.strerror or error}: {python}")
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            with suppress(ValueError, AttributeError):
                found = json.loads(line.removeprefix(MARK))
                return Accepted(found.get("refusal"), str(found.get("problem") or ""))
    return Accepted(None, (done.stderr.strip().splitlines() or [f"exit {done.code}"])[-1])


def _memory(python: Path, argv: list[str]) -> Path:
    key = "\n".join((identity(python), f"{SCRIPT.stat().st_mtime_ns}", *argv))
    return cache_dir() / "engines" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}a.json"
