"""Fixes weighed by the plan: the failing settings and the changed ones, with vLLM's own defaults where none is set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Fix
from fitserve.errors import FitserveError
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.facts.model import ModelFacts
from fitserve.plan.make import make_plan
from fitserve.plan.parse import parse
from fitserve.plan.plan import Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.plan.versions import OLDEST, release, rules
from fitserve.units import GIB

_HOST = HostFacts("", "", None, frozenset(), 8, 1 << 40, 1 << 40, None, None, None)
_SEQUENCES, _STEP, _LARGEST = 256, 2048, 512  # vLLM's defaults on cards below 70 GiB
_ROWS = {
    "weights": "weights_gib",
    "rope_cache": "weights_gib",  # vLLM counts it in «Model loading took»
    "activation_peak": "activation_peak_gib",
    "graphs": "graphs_gib",
    "graph_probe": "graph_probe_gib",
}


@dataclass(frozen=True)
class PlanPredictor:
    """Weighs with the model's facts.

    It is silent where the failing settings fit by the plan: whatever failed then is not in it.
    """

    model: ModelFacts
    cards: tuple[Gpu, ...]
    _plans: dict[str, Plan | None] = field(default_factory=dict)

    def predict(self, case: Case, fix: Fix) -> dict[str, object] | None:
        """Figures of one card after the change, beside those before it."""
        before = self._plan(case, case.settings)
        if before is None or before.verdict is Verdict.FITS:
            return None
        after = self._plan(case, {**case.settings, **fix.set})
        if after is None:
            return None
        return {
            **_figures(after),
            **{f"was_{name}": value for name, value in _figures(before).items()},
            "basis": "plan",
        }

    def planned(self, case: Case) -> dict[str, object] | None:
        """The figures of the settings as they were."""
        plan = self._plan(case, case.settings)
        return _figures(plan) if plan else None

    def _plan(self, case: Case, settings: dict[str, object]) -> Plan | None:
        version = case.start.version
        if version is None or release(version) < OLDEST:
            return None
        key = json.dumps([version, settings], default=str, sort_keys=True)
        if key not in self._plans:
            self._plans[key] = self._made(version, settings)
        return self._plans[key]

    def _made(self, version: str, settings: dict[str, object]) -> Plan | None:
        engine = EngineFacts("vllm", version, Path("python"), managed=False)
        request = _with_defaults(parse(_words(settings)).request, settings, version, self.model)
        cards = self.cards
        if request.tensor_parallel_size and request.tensor_parallel_size > len(cards):
            return None
        try:
            return make_plan(request, self.model, engine, _HOST, cards)
        except FitserveError:
            return None


def _with_defaults(request: PlanRequest, settings: dict[str, object], version: str, model: ModelFacts) -> PlanRequest:
    """What vLLM takes where nothing is stated. The plan would choose; vLLM does not."""
    gates = rules(version)
    share = None if request.kv_cache_memory_bytes else request.gpu_memory_utilization or gates.default_utilization
    sequences = request.max_num_seqs or _SEQUENCES
    pictures: dict[str, object] = {"max_pixels": model.vision.max_pixels} if model.vision else {}
    return replace(
        request,
        tensor_parallel_size=request.tensor_parallel_size or 1,
        execution="eager" if settings.get("--enforce-eager") is True else "graphs",
        max_num_seqs=sequences,
        max_cudagraph_capture_size=request.max_cudagraph_capture_size or min(2 * sequences, _LARGEST),
        mm_processor_kwargs=request.mm_processor_kwargs or pictures,
        max_num_batched_tokens=request.max_num_batched_tokens or _STEP,
        gpu_memory_utilization=share,
        kv_cache_dtype=request.kv_cache_dtype or "auto",
    )


def _words(settings: dict[str, object]) -> list[str]:
    """Settings as an argv; what is taken away is not in it."""
    words = []
    for flag, value in settings.items():
        if value is None or flag == "--model":
            continue
        if value is False:
            words.append("--no-" + flag.removeprefix("--"))
        elif value is True:
            words.append(flag)
        else:
            words += [flag, json.dumps(value) if isinstance(value, (dict, list)) else str(value)]
    return words


def _figures(plan: Plan) -> dict[str, object]:
    """The rows that a reader compares, GiB of one card, at their expected values."""
    out: dict[str, object] = {"fits": plan.fits, "verdict": plan.verdict.value}
    sizes: dict[str, int] = {}
    for row in plan.ledger:
        name = _ROWS.get(row.item)
        if name and row.expected is not None:
            sizes[name] = sizes.get(name, 0) + row.expected
    out |= {name: round(size / GIB, 2) for name, size in sizes.items()}
    if plan.kv is not None:
        out["available_kv_gib"] = round(plan.kv.blocks * plan.kv.bytes_per_block / GIB, 2)
        out |= {"kv_tokens": plan.kv.tokens, "concurrency": round(plan.kv.concurrency, 2)}
    return out


def cards_of(figures: Mapping[str, object], count: int) -> tuple[Gpu, ...]:
    """Cards as the log shows them: their memory from its own lines, their number from the split."""
    total = figures.get("total_gib")
    if not isinstance(total, (int, float)):
        return ()
    return tuple(Gpu(index, "", int(total * GIB), None, None, assumed=True) for index in range(count))
