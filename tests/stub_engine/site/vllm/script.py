"""What the stub is told to do, from the JSON table in STUB_ENGINE."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Script:
    """Seconds and switches. `at` names a stage: config, load, profile, kv_alloc, warmup, serve."""

    stage_s: float = 0.02  # before each stage
    die_at: str = ""  # the engine core raises there
    die_with: str = "ValueError: the stub was told to die"
    die_once: str = ""  # a file: present, it does not die; it is made at the death
    kv_tokens: int = 0  # the KV cache holds so many: a longer --max-model-len ends the start in vLLM's words
    weight_bytes: int = 0  # that it takes while it loads
    hang_at: str = ""  # sleeps there for ever
    refuse: str = ""  # argparse refuses with this sentence
    die_after_s: float = 0.0  # the server dies that long after its first answer
    stubborn: bool = False  # TERM is ignored by every process
    orphan: bool = False  # the worker outlives everybody: it ignores TERM and its parent's death
    answer: str = "red"
    answers: str = ""  # a file of JSON: sha256 of a picture -> answer
    finish: str = "stop"
    answer_s: float = 0.0
    token_s: float = 0.0  # between the parts of a stream
    fail_requests: int = 0  # the first of them get an error 500
    die_at_request: bool = False  # loads, is healthy, dies at the first question
    no_pictures: bool = False
    looks: bool = False  # it sees, counts tokens and slots: see mind.py, which the following are for
    old_picture: bool = False  # answers every picture as the one before it
    keeps_slot: bool = False  # works on when its client has hung up
    leak_bytes: int = 0  # that each answer keeps
    pictures: int = 0  # that a request may have; 0: any number
    blocks: int = 6899  # of the KV cache, as its metrics have them
    noise: int = 0  # bytes of log written before it serves


def read_script() -> Script:
    """The script in force. An unknown key is a mistake in the test."""
    table = json.loads(os.environ.get("STUB_ENGINE", "") or "{}")
    assert set(table) <= {field.name for field in fields(Script)}, table
    return Script(**table)


def dies(script: Script, at: str) -> bool:
    """Whether it is to die here; a death «once» leaves its file."""
    if script.die_at != at:
        return False
    if script.die_once:
        mark = Path(script.die_once)
        if mark.exists():
            return False
        mark.touch()
    return True
