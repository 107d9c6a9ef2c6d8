"""What two other tools said to the same input, as `ask_peers.py` stored it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cases import Labelled
from score import moved

_ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "peers.json").read_text(encoding="utf-8"))
_MEMORY = ("oom_", "no_kv", "kv_below", "mamba_")


def named_share(cases: Sequence[Labelled]) -> str:
    """Logs of which vllm-doctor said anything at all."""
    told = sum(bool(_ANSWERS["vllm-doctor"][case.name]["found"]) for case in cases)
    return f"{told}/{len(cases)}"


def cure_share(cases: Sequence[Labelled]) -> str:
    """Launches that ml-memguard could weigh, and of which its proposal moves a flag that cured."""
    weighed = [(case, told) for case in cases if case.cure["set"] and (told := _guard(case))]
    return f"{sum(moved(case, told['set']) for case, told in weighed)}/{len(weighed)}" if weighed else "–"


def named_when_full() -> list[str]:
    """What vllm-doctor says of the metrics of a service whose cache is full."""
    return list(_ANSWERS["vllm-doctor on metrics"]["full"]["found"])


def figures(cases: Sequence[Labelled]) -> dict[str, object]:
    """The rest of what is to be said, for the braces of `words.toml`."""
    guards = [told for case in cases if case.cause.startswith(_MEMORY) and (told := _guard(case))]
    return {
        "complaint": str(_ANSWERS["vllm-doctor"][cases[0].name]["complaint"])[:60],
        "launches": len(guards),
        "fitting": sum(told["fits"] for told in guards),
        "single": sum(told["set"]["--max-num-seqs"] == 1 for told in guards),
    }


def _guard(case: Labelled) -> dict[str, Any] | None:
    answer: dict[str, Any] | None = _ANSWERS["ml-memguard"][case.name]
    return answer
