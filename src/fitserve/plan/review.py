"""A review of somebody's command: its ledger as vLLM would take it, and its mistakes as checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.facts.model import ModelFacts
from fitserve.facts.nvml import select_visible
from fitserve.plan.captures import captures
from fitserve.plan.choose import draft_gpu
from fitserve.plan.correction import correct
from fitserve.plan.cpu import Draft, weigh_cpu
from fitserve.plan.defaults import as_given
from fitserve.plan.flags import as_flags
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.make import finish
from fitserve.plan.parse import ParsedCommand
from fitserve.plan.plan import Check, CheckState, Correction, Plan, Refused, Verdict
from fitserve.plan.unweighed import stages_and_replicas
from fitserve.text import tr
from fitserve.units import format_gib

EAGER, CODE, OPEN, MEDIA, VALUES, VISIBLE, HALF = (
    "graphs_affordable", "remote_code", "bound_to_loopback", "media_domains", "values_valid", "cards_visible", "dtype",
)  # fmt: skip
_DEVICES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
_SIZES = (
    "tensor_parallel_size", "enforce_eager", "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens",
    "kv_cache_dtype",
)  # fmt: skip


def review(
    parsed: ParsedCommand,
    model: ModelFacts,
    engine: EngineFacts,
    host: HostFacts,
    gpus: tuple[Gpu, ...] | None,
    learned: tuple[Path, ...] = (),
) -> Plan:
    """The plan of the command as it stands; `corrected` holds what fitserve would start in its place."""
    whole = Given(parsed.request, model, engine, host, gpus, learned)
    given = replace(whole, gpus=seen_cards(parsed, gpus))
    settings = as_given(given)
    if gpus is None:
        draft = weigh_cpu(given, settings, [])
    else:
        weighed = Scale(given).weigh(settings)
        key = "plan.tight_because" if weighed.judgement.verdict is Verdict.TIGHT else "plan.short_by"
        why = weighed.judgement.obstacle
        draft = weighed.draft((tr(key, why=why),) if why else ())
    plan = finish(given, draft)
    mistakes = tuple(_mistakes(parsed, given, draft))
    env = plan.env | {name: value for name, value in parsed.env.items() if name in _DEVICES}
    plan = replace(plan, checks=(*mistakes, *plan.checks), env=env)
    corrected = correct(parsed, whole, plan)
    if corrected is None and not plan.fits and gpus is not None:
        return replace(plan, nearest=draft_gpu(given).nearest)
    return replace(plan, corrected=corrected, nearest=_instead(plan, corrected) if corrected else ())


def seen_cards(parsed: ParsedCommand, gpus: tuple[Gpu, ...] | None) -> tuple[Gpu, ...] | None:
    """The cards that vLLM would take: the first ones of those that the command lets it see."""
    mask = parsed.env.get("CUDA_VISIBLE_DEVICES")
    if gpus is None:
        return None
    seen = gpus if mask is None else select_visible(gpus, mask) or gpus[:1]
    return seen[: (parsed.request.tensor_parallel_size or 1) * stages_and_replicas(parsed.flags)]


def _mistakes(parsed: ParsedCommand, given: Given, draft: Draft) -> Iterator[Check]:
    for invalid in parsed.invalid:
        yield Check(VALUES, CheckState.FAIL, invalid)
    if parsed.stray:
        yield Check(VALUES, CheckState.FAIL, tr("plan.stray_said", words=" ".join(parsed.stray)))
    if "--trust-remote-code" in parsed.flags and not given.model.config.get("auto_map"):
        yield Check(CODE, CheckState.WARN, tr("plan.mistake_code"))
    if parsed.flags.get("--host", "0.0.0.0") not in ("127.0.0.1", "localhost", "::1"):  # noqa: S104 - vLLM's default
        keyed = "--api-key" in parsed.flags or "VLLM_API_KEY" in parsed.env
        yield Check(OPEN, CheckState.WARN, tr("plan.mistake_open_keyed" if keyed else "plan.mistake_open"))
    if given.model.vision and "--allowed-media-domains" not in parsed.flags:
        yield Check(MEDIA, CheckState.WARN, tr("plan.mistake_media"))
    if parsed.flags.get("--dtype") in ("half", "float16") and given.model.dtype == "bfloat16" and _has_bfloat16(given):
        yield Check(HALF, CheckState.WARN, tr("plan.mistake_half"))
    mask = parsed.env.get("CUDA_VISIBLE_DEVICES")
    if mask is not None and given.gpus and not select_visible(given.gpus, mask):
        yield Check(VISIBLE, CheckState.FAIL, tr("plan.mistake_blind", mask=mask))
    yield from _eager(given, draft)


def _has_bfloat16(given: Given) -> bool:
    return all((card.compute_capability or (0, 0)) >= (8, 0) for card in given.gpus or ())


def _eager(given: Given, draft: Draft) -> Iterator[Check]:
    """What graphs would cost here, where the command leaves them out."""
    if given.gpus is None or not draft.settings.enforce_eager:
        return
    weighed = Scale(given).weigh(replace(draft.settings, enforce_eager=False))
    cost = weighed.rank.graphs
    said = tr(
        "plan.mistake_eager" if weighed.judgement.verdict is not Verdict.DOES_NOT_FIT else "plan.mistake_eager_needed",
        low=format_gib(cost.low),
        high=format_gib(cost.high),
        count=captures(weighed.settings).count,
        why=weighed.judgement.obstacle,
    )
    state = CheckState.WARN if weighed.judgement.verdict is not Verdict.DOES_NOT_FIT else CheckState.OK
    yield Check(EAGER, state, said)


def _instead(plan: Plan, corrected: Correction) -> tuple[Refused, ...]:
    """The settings in which the corrected command differs."""
    old, new = plan.settings, corrected.plan.settings
    changed = {name: getattr(new, name) for name in _SIZES if getattr(new, name) != getattr(old, name)}
    verdict = tr(f"plan.near_{corrected.plan.verdict.value}")
    return (Refused(changed, tr("plan.better", changed=as_flags(changed), verdict=verdict)),) if changed else ()
