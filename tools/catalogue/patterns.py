"""Which of our patterns still match something that a version can write."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from templates import BLANK, Template

from fitserve.diagnose.engine import watched
from fitserve.observe.log.figures import FIGURES
from fitserve.observe.log.match import Pattern
from fitserve.observe.log.stages import MARKS

# What the blanks are filled with, in turn: a pattern asks for a number here, a name there.
_FILLINGS = (
    ("1",), ("1.0",), ("word",), ("GPU", "1", "1", "1.0"), ("1", "word"), ("word", "1"), ("1.0 GiB",), ("0", "1"),
    ("", "1"), ("", "1", "1.0"), ("A=1 (largest=1)",), ("awq", "gptq"), ("['a.qweight']",), ("1", "1", "max_len=1"),
    ("1", "max_len", "1", "1"), ("cuda:0 ", "1", "1"),
)  # fmt: skip
# Written by torch, Triton, Transformers, the hub, uvicorn, the kernel or a person: not to be found in vLLM's files.
FOREIGN = frozenset(
    {
        "oom_gpu total_gib free_gib", "asked_gib", "in_use_gib", "other_process_gib", "torch_allocated_gib",
        "graph_pools_gib", "torch_reserved_gib", "download", "driver", "kernels", "jit", "jit_detail", "library",
        "crash", "unknown_flag", "gguf_frame", "cpu_engine", "eager_args", "assert_split",
        "host_memory", "killed", "host_frozen", "memory_words", "ray_memory", "nonsense", "marks", "shard_damaged",
        "gated", "no_network", "disk_full", "port_taken", "remote_code", "nccl_error", "shm_small", "hangs", "ordinal",
        "note_held", "slow_note", "stopped", "shared_memory", "gguf", "died", "forked", "ray_cards", "weight_shapes",
        "bad_argument", "nccl_full", "plain_name", "ptx", "model_type", "wrong_import", "config_key",
        "gguf_architecture", "fp8_arch",
    }
)  # fmt: skip


def all_patterns() -> list[Pattern]:
    """Stages, figures and causes."""
    return [*MARKS, *FIGURES, *watched()]


def name(item: Pattern) -> str:
    """A pattern's name: its key and its first word, since stages share a key."""
    return f"{item.key}/{item.words[0]}"


def known_dead() -> set[str]:
    """The names in dead.txt: what only other versions than the pinned one write."""
    lines = (Path(__file__).parent / "dead.txt").read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0] for line in lines if line and line[0] != "#"}


def unmatched(patterns: Iterable[Pattern], templates: Iterable[Template]) -> list[Pattern]:
    """Patterns that no template of this version can set off, foreign ones left out."""
    by_word: dict[str, list[Pattern]] = {}
    left = {id(item): item for item in patterns if item.key not in FOREIGN}
    for item in left.values():
        for word in item.words:
            by_word.setdefault(word, []).append(item)
    for template in templates:
        plain = re.sub(r"\s*\n\s*", " ", template.text)
        near = {id(item): item for word in by_word.keys() & _words(plain) for item in by_word[word]}
        for key, item in near.items():
            if key in left and any(item.shape.search(text) for text in filled(plain)):
                del left[key]
    return list(left.values())


def _words(text: str) -> set[str]:
    """Words as the index cuts them; those that a blank may bring are there too."""
    return set(re.findall(r"[a-z_][a-z_0-9]{2,}", text.lower())) | ({"awq", "gptq"} if BLANK in text else set())


def filled(text: str) -> Iterator[str]:
    """The template with its blanks filled in a few ways."""
    if BLANK not in text:
        yield text
        return
    pieces = text.split(BLANK)
    for filling in _FILLINGS:
        values = itertools.cycle(filling)
        yield pieces[0] + "".join(next(values) + piece for piece in pieces[1:])
