"""Which settings are worth a start: those that the plan says fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fitserve.cli.compare_settings import merged
from fitserve.errors import DoesNotFit, ProblemsFound, SettingsError

if TYPE_CHECKING:
    from fitserve.cli.up_target import Wishes
    from fitserve.measure.tune import Situation
    from fitserve.plan.plan import Plan


def situation(base: Wishes) -> Situation:
    """What the plan of the base chooses, and how many cards there are. Raises FitserveError."""
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.read_gpus import read_gpus
    from fitserve.measure.tune import Situation

    plan = _planned(base)
    gpus = read_gpus() if plan.engine.device != "cpu" else ()
    settings = plan.settings
    return Situation(
        settings.enforce_eager,
        settings.tensor_parallel_size,
        settings.max_num_seqs,
        settings.max_num_batched_tokens,
        0 if isinstance(gpus, GpusUnknown) else len(gpus),
    )


def fitting(base: Wishes, parsed: Mapping[str, dict[str, Any]]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The labels that fit, and why the others do not. A setting that makes the same plan as the base is left out."""
    kept: list[str] = []
    removed: dict[str, str] = {}
    seen = {_planned(base).command}
    for label, options in parsed.items():
        try:
            plan = _planned(replace(base, values=merged(dict(base.values), options)))
        except (DoesNotFit, ProblemsFound, SettingsError) as refusal:
            removed[label] = refusal.evidence or refusal.message
            continue
        if plan.command not in seen:
            seen.add(plan.command)
            kept.append(label)
    return tuple(kept), removed


def _planned(wishes: Wishes) -> Plan:
    from fitserve.cli.up_plan import drafted, picked

    return drafted(wishes, lambda: picked(wishes.engine_python, lambda _missing: False), set()).plan
