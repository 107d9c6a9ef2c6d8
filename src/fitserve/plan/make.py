"""From facts and wishes to a plan. The one entry: `make_plan`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.facts.known_models import hub_of
from fitserve.facts.model import ModelFacts
from fitserve.plan.checks import run_checks
from fitserve.plan.choose import draft_gpu
from fitserve.plan.cpu import Draft, draft_cpu
from fitserve.plan.flags import command, environment
from fitserve.plan.given import Given
from fitserve.plan.plan import Check, CheckState, Plan
from fitserve.plan.request import PlanRequest
from fitserve.plan.unweighed import capped, unweighed
from fitserve.plan.visible import visible_env
from fitserve.text import tr


def make_plan(
    request: PlanRequest,
    model: ModelFacts,
    engine: EngineFacts,
    host: HostFacts,
    gpus: tuple[Gpu, ...] | None,
    learned: tuple[Path, ...] = (),
) -> Plan:
    """Choose the settings that were not asked for, weigh them row by row, and say why.

    `gpus` None means a CPU engine; `learned` are this machine's own calibration files (`plan/learn.py`). A plan that
    does not fit is returned all the same, with `does_not_fit`.
    """
    given = Given(request, model, engine, host, gpus, learned)
    if given.on_cpu:
        return finish(given, draft_cpu(given))
    return finish(given, draft_gpu(given))


def finish(given: Given, draft: Draft) -> Plan:
    """The draft with its command, environment and checks. A failed check means that the start will fail."""
    settings, request = draft.settings, given.request
    checks = tuple(run_checks(given, settings, draft.kv))
    left_out = [*unweighed(settings.extra, given.model), *(["--cpu-offload-gb"] if settings.cpu_offload_gb else [])]
    judged = capped(draft.verdict, left_out)
    said = (tr("plan.verdict_capped", flags=", ".join(left_out)),) if judged is not draft.verdict else ()
    return Plan(
        verdict=judged,
        model=given.model,
        engine=given.engine,
        settings=settings,
        command=command(settings, served(given.model), request.host, request.port),
        env=environment(settings) | visible_env(given.gpus or (), draft.cards),
        budget_bytes=draft.budget_bytes,
        ledger=draft.ledger,
        kv=draft.kv,
        reasons=draft.reasons + said,
        refused=draft.refused,
        options=draft.options,
        nearest=draft.nearest,
        checks=checks,
    )


def served(model: ModelFacts) -> str:
    """What --model is given: the folder or the hub id."""
    if model.source != "known":
        return model.source
    return hub_of(model.name) or model.name


def failures(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks that say the start will fail."""
    return tuple(check for check in checks if check.state is CheckState.FAIL)
