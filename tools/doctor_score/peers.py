"""What two other tools said to the same input, as `ask_peers.py` stored it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cases import Labelled
from score import moved

_ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "peers.json").read_text(encoding="utf-8"))
_SENTENCE = """
The others were really asked (`tools/doctor_score/ask_peers.py`). `vllm-doctor` 0.6.0 takes the address of a /metrics
page: handed a log there, it ends with an error («{complaint}…»); handed the metrics of a service with a full cache, it
names {full}. `ml-memguard` 0.5.0 takes no log: it weighs a launch
before it, from the model's size and the card's memory. Of the {launches} launches above that failed for memory and name
both, it calls {fitting} fitting, and in {single} it proposes one request at a time.
"""
_MEMORY = ("oom_", "no_kv", "kv_below", "mamba_")


def named_share(cases: Sequence[Labelled]) -> str:
    """Logs of which vllm-doctor said anything at all."""
    told = sum(bool(_ANSWERS["vllm-doctor"][case.name]["found"]) for case in cases)
    return f"{told}/{len(cases)}"


def cure_share(cases: Sequence[Labelled]) -> str:
    """Launches that ml-memguard could weigh, and of which its proposal moves a flag that cured."""
    weighed = [(case, told) for case in cases if case.cure["set"] and (told := _guard(case))]
    return f"{sum(moved(case, told['set']) for case, told in weighed)}/{len(weighed)}" if weighed else "–"


def sentence(cases: Sequence[Labelled]) -> str:
    """The rest of what is to be said."""
    guards = [told for case in cases if case.cause.startswith(_MEMORY) and (told := _guard(case))]
    return _SENTENCE.format(
        complaint=str(_ANSWERS["vllm-doctor"][cases[0].name]["complaint"])[:60],
        full=", ".join(_ANSWERS["vllm-doctor on metrics"]["full"]["found"]),
        launches=len(guards),
        fitting=sum(told["fits"] for told in guards),
        single=sum(told["set"]["--max-num-seqs"] == 1 for told in guards),
    )


def _guard(case: Labelled) -> dict[str, Any] | None:
    answer: dict[str, Any] | None = _ANSWERS["ml-memguard"][case.name]
    return answer
