"""A review of somebody's command: its ledger as vLLM would take it, and its mistakes as checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fitserve.facts.engine import EngineFacts
from fitserve.facts.gpu import Gpu
from fitserve.facts.host import HostFacts
from fitserve.facts.model import ModelFacts
from fitserve.plan.captures import captures
from fitserve.plan.choose import draft_gpu
from fitserve.plan.cpu import Draft, weigh_cpu
from fitserve.plan.defaults import as_given
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.make import finish
from fitserve.plan.parse import ParsedCommand
from fitserve.plan.plan import Check, CheckState, Plan, Refused, Verdict
from fitserve.text import tr
from fitserve.units import format_gib

EAGER, CODE, OPEN, MEDIA, VALUES = (
    "graphs_affordable", "remote_code", "bound_to_loopback", "media_domains", "values_valid",
)  # fmt: skip


def review(
    parsed: ParsedCommand,
    model: ModelFacts,
    engine: EngineFacts,
    host: HostFacts,
    gpus: tuple[Gpu, ...] | None,
) -> Plan:
    """The plan of the command as it stands; `nearest` holds what fitserve would start in its place."""
    given = Given(replace(parsed.request, extra=_extra(parsed)), model, engine, host, gpus)
    settings = as_given(given)
    if gpus is None:
        draft = weigh_cpu(given, settings, [])
    else:
        weighed = Scale(given).weigh(settings)
        draft = weighed.draft((weighed.judgement.obstacle,) if weighed.judgement.obstacle else ())
    plan = finish(given, draft)
    mistakes = tuple(_mistakes(parsed, given, draft))
    return replace(plan, checks=(*mistakes, *plan.checks), nearest=_better(given, draft))


def _extra(parsed: ParsedCommand) -> tuple[str, ...]:
    """What the plan's own settings do not hold, as it was written."""
    return parsed.request.extra


def _mistakes(parsed: ParsedCommand, given: Given, draft: Draft) -> Iterator[Check]:
    for invalid in parsed.invalid:
        yield Check(VALUES, CheckState.FAIL, invalid)
    if "--trust-remote-code" in parsed.flags and not given.model.config.get("auto_map"):
        yield Check(CODE, CheckState.WARN, tr("plan.mistake_code"))
    if parsed.flags.get("--host", "0.0.0.0") not in ("127.0.0.1", "localhost", "::1"):  # noqa: S104 - vLLM's default
        keyed = "--api-key" in parsed.flags or "VLLM_API_KEY" in parsed.env
        yield Check(OPEN, CheckState.WARN, tr("plan.mistake_open_keyed" if keyed else "plan.mistake_open"))
    if given.model.vision and "--allowed-media-domains" not in parsed.flags:
        yield Check(MEDIA, CheckState.WARN, tr("plan.mistake_media"))
    yield from _eager(given, draft)


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


def _better(given: Given, draft: Draft) -> tuple[Refused, ...]:
    """What fitserve would choose with the same length and the same cards, where that differs and fits better."""
    if given.gpus is None:
        return ()
    asked = given.request
    free = replace(
        asked, execution="auto", gpu_memory_utilization=None, kv_cache_memory_bytes=None, max_num_seqs=None,
        max_num_batched_tokens=None, max_cudagraph_capture_size=None, tensor_parallel_size=None, kv_cache_dtype=None,
    )  # fmt: skip
    own = draft_gpu(replace(given, request=free))
    order = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)
    worse = order.index(own.verdict) > order.index(draft.verdict)
    changed = {
        name: getattr(own.settings, name)
        for name in ("tensor_parallel_size", "enforce_eager", "gpu_memory_utilization", "max_num_seqs",
                     "max_num_batched_tokens", "kv_cache_dtype")
        if getattr(own.settings, name) != getattr(draft.settings, name)
    }  # fmt: skip
    if worse or not changed:
        return ()
    said = ", ".join(f"{name}={value}" for name, value in changed.items())
    return (Refused(changed, tr("plan.better", changed=said, verdict=tr(f"plan.near_{own.verdict.value}"))),)
