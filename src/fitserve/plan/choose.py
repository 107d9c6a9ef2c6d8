"""Settings to begin with on GPUs, before anything is given up: what was asked, else what the goal wants."""

from __future__ import annotations

from dataclasses import replace

from fitserve.plan.cpu import DEFAULT_LENGTH, Draft, picture_limits
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale, Weighed
from fitserve.plan.ladder import block_changes
from fitserve.plan.nearest import nearest
from fitserve.plan.parse import parse
from fitserve.plan.plan import Refused, Verdict
from fitserve.plan.search import choose, rank_counts, ranks_said
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import crossing_groups, undivided
from fitserve.plan.visible import capability, visible_env
from fitserve.text import tr
from fitserve.units import GIB, format_gib

_SEQS = {"latency": 64, "throughput": 256, "context": 16}
_TOKENS = {"latency": 2048, "throughput": 8192, "context": 2048}
_LARGE_CARD = 70 * GIB  # vLLM's own defaults are larger from here (engine/arg_utils.py get_batch_defaults)


def draft_gpu(given: Given, *, near: bool = True) -> Draft:
    """The chosen candidate with its reasons, what was refused, and, where it is asked, what would run in its place."""
    scale = Scale(given)
    asked = given.request.tensor_parallel_size
    articles = given.request.preset == "articles"
    counts = [asked] if asked else [_largest(scale)] if articles else rank_counts(scale)
    starts = [first_settings(scale, ranks) for ranks in counts]
    choice = choose(scale, starts)
    weighed = choice.descent.weighed
    reasons = [
        *_said(given, weighed),
        *_own_choices(given, weighed.settings),
        *ranks_said(scale, weighed.settings.tensor_parallel_size),
    ]
    if seen := visible_env(given.gpus or (), weighed.cards):
        reasons.append(tr("plan.cards_chosen", cards=seen["CUDA_VISIBLE_DEVICES"]))
    reasons += choice.descent.given_up
    others: list[Refused] = []
    if weighed.judgement.verdict is Verdict.DOES_NOT_FIT:
        key = "plan.even_so" if choice.descent.given_up else "plan.short_by"
        reasons.append(tr(key, why=weighed.judgement.obstacle))
        if near:
            others = nearest(scale, first_settings(scale, weighed.settings.tensor_parallel_size), weighed.settings)
    elif weighed.judgement.verdict is Verdict.TIGHT:
        reasons.append(tr("plan.tight_because", why=weighed.judgement.obstacle))
    return replace(weighed.draft(tuple(reasons)), refused=choice.refused, options=choice.options, nearest=tuple(others))


def first_settings(scale: Scale, ranks: int) -> Settings:
    """What the goal wants on this number of ranks."""
    given = scale.given
    request, model = given.request, given.model
    articles = request.preset == "articles"
    large = all(card.total_bytes >= _LARGE_CARD for card in scale.cards)
    ceiling = model.max_positions or DEFAULT_LENGTH
    tokens = request.max_num_batched_tokens or max(8192 if large else _TOKENS[request.goal], request.max_num_seqs or 0)
    settings = Settings(
        tensor_parallel_size=ranks,
        enforce_eager=request.execution == "eager" or (articles and request.execution == "auto"),
        max_model_len=request.max_model_len or (min(DEFAULT_LENGTH, ceiling) if articles else ceiling),
        max_num_seqs=request.max_num_seqs or min(_SEQS[request.goal], tokens),
        max_num_batched_tokens=tokens,
        enable_prefix_caching=request.enable_prefix_caching is not False,
        kv_cache_dtype=request.kv_cache_dtype or "auto",
        gpu_memory_utilization=request.gpu_memory_utilization,
        kv_cache_memory_bytes=request.kv_cache_memory_bytes,
        block_size=request.block_size,
        limit_mm_per_prompt=picture_limits(given),
        mm_processor_kwargs=request.mm_processor_kwargs,
        mm_encoder_tp_mode=request.mm_encoder_tp_mode or "weights",
        language_model_only=request.language_model_only,
        max_cudagraph_capture_size=request.max_cudagraph_capture_size,
        enable_expert_parallel=request.enable_expert_parallel,
        num_speculative_tokens=request.num_speculative_tokens,
        cpu_offload_gb=request.cpu_offload_gb,
        served_model_name=request.served_model_name or model.name,
        extra=(*request.extra, *_half(scale, ranks)),
    )
    if settings.gpu_memory_utilization is None:
        settings = replace(settings, gpu_memory_utilization=scale.utilization(settings))
    return replace(settings, **(block_changes(scale, settings) or {}))  # type: ignore[arg-type]  # names of fields


def _half(scale: Scale, ranks: int) -> tuple[str, ...]:
    """Cards before 8.0 have no bfloat16: the other 16-bit dtype, unless one was asked."""
    have = capability(scale.cards[:ranks])
    asked = parse(scale.given.request.extra).flags
    if have is None or have >= (8, 0) or "--dtype" in asked or scale.given.model.dtype != "bfloat16":
        return ()
    return ("--dtype", "half")


def _largest(scale: Scale) -> int:
    """All cards, or as many as divide the model."""
    model, whole = scale.given.model, scale.given.request.enable_expert_parallel
    counts = range(len(scale.cards), 1, -1)
    divides = (n for n in counts if not list(undivided(model, n)) and (whole or not crossing_groups(model, n)))
    return next(divides, 1)


def _own_choices(given: Given, settings: Settings) -> list[str]:
    """What was decided so that the start does not fail."""
    request, cards, said = given.request, len(given.gpus or ()), []
    if request.preset == "articles" and not request.tensor_parallel_size and settings.tensor_parallel_size < cards:
        said.append(tr("plan.articles_fewer", ranks=settings.tensor_parallel_size, cards=cards))
    if len(settings.extra) > len(request.extra):
        said.append(tr("plan.half_chosen"))
    if request.enable_prefix_caching is None and not settings.enable_prefix_caching:
        said.append(tr("plan.caching_off", step=settings.max_num_batched_tokens))
    return said


def _said(given: Given, weighed: Weighed) -> list[str]:
    settings, graphs = weighed.settings, weighed.rank.graphs
    if given.request.preset == "articles":
        return [tr("plan.articles_preset")]
    if given.request.execution == "eager":
        return [tr("plan.eager_asked")]
    said = (
        []
        if settings.enforce_eager
        else [tr("plan.graphs_auto", low=format_gib(graphs.low), high=format_gib(graphs.high))]
    )
    if given.layout(settings) is None:
        said.append(tr("plan.kv_unknown", architecture=given.model.architecture))
    return said
