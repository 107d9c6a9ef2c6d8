"""The labelled cases, and a copy of each with its free parts changed: paths, names, numbers, processes, times."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

DATA = Path(__file__).parent.parent.parent / "tests" / "data" / "doctor"
_PATH = re.compile(r"(?<![\w.])/(?:[\w.-]{1,60}/){1,12}(?=[\w.-])")
_PID = re.compile(r"pid=(\d{1,7})")
_CLOCK = re.compile(r"\b(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_SOURCE = re.compile(r"((?:\.py|cpp|hpp):)(\d{1,5})|(\.py\", line )(\d{1,5})")
_SIZE = re.compile(r"(\d{1,6}\.\d{1,4}) ?(GiB|MiB|KiB|GB)")
_TOKENS = re.compile(r"(?<![\d.:/=-])(\d{5,9})(?![\d.:-])")
_NAME = re.compile(
    r"\b(?:Qwen|Meta-Llama|Llama|llama|gemma|Gemma|InternVL|DeepSeek|Mixtral|MiniMax|Kimi|QwQ|Phind)[\w.]{0,20}-?"
)


@dataclass(frozen=True)
class Labelled:
    """A case: what was seen, and what was the matter."""

    name: str
    engine: str
    current: bool  # vLLM 0.8.5 or later
    sure: bool
    model: str
    cards: int | None
    card_gib: float | None
    flags: dict[str, object]
    stage: str
    cause: str
    cure: dict[str, dict[str, object]]
    log: tuple[str, ...]


def cases() -> list[Labelled]:
    """All labelled cases."""
    out = []
    for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        record.pop("source")
        record["log"] = tuple(record["log"])
        out.append(Labelled(**record))
    return out


def changed(case: Labelled, seed: int = 7) -> Labelled:
    """The same case with everything changed that does not say what is the matter."""
    dice = random.Random(f"{seed} {case.name}")
    factor = dice.uniform(1.02, 1.06)
    shift = dice.randrange(1, 50)
    rules = (
        (_PATH, lambda found: f"/srv/{dice.choice(['a', 'bb', 'ccc'])}/" + _kept(found[0])),
        (_PID, lambda found: f"pid={int(found[1]) + 1000 + shift}"),
        (_CLOCK, lambda found: f"{found[1]}-{found[2]} {found[3]}:{found[4]}:{found[5]}".replace("20", "21", 1)),
        (_SOURCE, lambda found: f"{found[1] or found[3]}{int(found[2] or found[4]) + shift}"),
        (_SIZE, lambda found: found[0].replace(found[1], _scaled(found[1], factor))),
        (_TOKENS, lambda found: str(int(int(found[1]) * factor) // 8 * 8 or found[1])),
        (_NAME, lambda _: "Model"),
    )
    lines = []
    for line in case.log:
        for shape, change in rules:
            line = shape.sub(change, line)
        lines.append(line)
    return replace(case, name=f"{case.name} (changed)", model="Model", log=tuple(lines))


def _kept(path: str) -> str:
    """The part of a path that names a package: it is what the engine wrote, not what the person chose."""
    parts = [part for part in path.split("/") if part]
    roots = [
        parts.index(name) for name in ("vllm", "torch", "triton", "transformers", "dev", "flashinfer") if name in parts
    ]
    return "/".join(parts[min(roots) :]) + "/" if roots else ""


def _scaled(number: str, factor: float) -> str:
    digits = len(number.partition(".")[2])
    return f"{float(number) * factor:.{digits}f}"
