"""After a start that failed: what the doctor would change, put into the wishes of another start.

`up` does this, not the runner: somebody is there to be told, and the plan, the ports and the ledger come from the same
code as at the first start. A service that has answered before is restarted as it was: clients rely on its settings, so
a change that would shorten them is advice there (`status` shows it), never taken unasked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fitserve.run.evidence import clean
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.cli.up_target import Wishes
    from fitserve.diagnose.advice import Change, Way
    from fitserve.plan.settings import Settings

_PINNED = {  # what the failed start had; nothing but the change may move, least of all into the room that it makes
    "tensor_parallel_size": "tensor_parallel_size",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "kv_cache_dtype": "kv_cache_dtype",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "kv_cache_memory_bytes": "kv_cache_memory_bytes",
    "kv_cache_space": "cpu_kv_cache_space_gib",
    "max_cudagraph_capture_size": "max_cudagraph_capture_size",
}
_UNPINS = {  # a change, and what followed from the value that it replaces
    "max_num_seqs": ("max_cudagraph_capture_size",),
    "kv_cache_memory_bytes": ("gpu_memory_utilization",),
    "gpu_memory_utilization": ("kv_cache_memory_bytes",),
}


@dataclass(frozen=True)
class Changed:
    """A change, and the wishes that it makes."""

    change: Change
    wishes: Wishes

    def told(self) -> dict[str, object]:
        """For the record: `way`, `cause`, `summary`, `line`, `text`, `set`, `why`, `predicted`."""
        finding, fix = self.change.finding, self.change.fix
        evidence = finding.evidence[0] if finding.evidence else None
        return {
            "way": self.change.way,
            "cause": finding.cause,
            "summary": finding.summary,
            "line": evidence.line if evidence else None,
            "text": evidence.text if evidence else None,
            "set": fix.set,
            "why": fix.why,
            "predicted": fix.predicted,
        }


def possible(name: str, gone: Collection[Way], execution: str) -> list[Change]:
    """What may be tried after the failed start of this deployment, the least loss first."""
    from fitserve.cli.doctor_service import judged
    from fitserve.diagnose.advice import changes
    from fitserve.diagnose.engine import Stated
    from fitserve.run.view import look

    view = look(name)
    return changes(judged(view, Stated()), gone, execution) if view else []


def asked_execution(wishes: Wishes) -> str:
    """How the person wants it to run: auto, graphs or eager."""
    eager = wishes.values.get("enforce_eager") or wishes.values.get("preset") or "--enforce-eager" in wishes.passthrough
    return "eager" if eager else str(wishes.values.get("execution") or "auto")


def with_change(wishes: Wishes, settings: Settings, flags: Mapping[str, object]) -> Wishes:
    """The wishes with the failed start's settings held and the change made."""
    values: dict[str, Any] = {name: getattr(settings, field) for name, field in _PINNED.items()}
    values |= wishes.values
    if values.get("execution") in (None, "auto"):
        values["execution"] = "eager" if settings.enforce_eager else "graphs"
    words = list(wishes.passthrough)
    for flag, value in flags.items():
        words = list(_without(words, flag))
        words += _applied(values, flag, value, wishes.values)
    return replace(wishes, values=_given(values) | {"passthrough": tuple(words)})


def _applied(values: dict[str, Any], flag: str, value: object, asked: Mapping[str, Any]) -> list[str]:
    """Put one flag into the values; returns the words for the engine where the plan has no place for it."""
    name = flag.lstrip("-").replace("-", "_")
    for follower in _UNPINS.get(name, ()):
        values[follower] = asked.get(follower)
    if name == "enforce_eager":
        values |= {"execution": "eager" if value else None, "enforce_eager": None}
        return []
    if name in _options():
        values[name] = None if value == "auto" and name == "max_model_len" else value  # the plan finds what fits
        return []
    return [] if value in (None, False) else [flag, *([] if value is True else [_word(value)])]


def _options() -> set[str]:
    from fitserve.plan.request import PlanRequest

    return set(PlanRequest.__dataclass_fields__)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _without(words: Sequence[str], flag: str) -> Iterator[str]:
    """The words without this flag and what follows it."""
    dropping = False
    for word in words:
        if word.startswith("--"):
            dropping = word.partition("=")[0] == flag
        if not dropping:
            yield word


def _word(value: object) -> str:
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def shown(flags: Mapping[str, object]) -> str:
    """The change as it would be typed: `--max-num-seqs 8`; what is taken away stands in the reader's words."""
    words = []
    for flag, value in flags.items():
        if value in (None, False):
            words.append(tr("run.retry_without", flag=flag))
        else:
            words.append(flag if value is True else f"{flag} {_word(value)}")
    return " ".join(words)


def said(name: str, change: Change) -> str:
    """What went wrong, with its line, and what is tried now."""
    finding, flags = change.finding, shown(change.fix.set)
    lines = [tr(f"run.retry_{change.way}", name=name, summary=finding.summary)]
    if finding.evidence:
        first = finding.evidence[0]
        text = tr("run.evidence_at", text=clean(first.text), file="engine.log", line=first.line)
        lines.append(f"  {tr('failure.evidence')}{text}")
    lines.append(f"  {tr('run.retry_with', flags=flags, why=change.fix.why)}")
    return "\n".join(lines)
