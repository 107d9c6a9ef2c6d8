"""The plan for a CPU engine: VLLM_CPU_KVCACHE_SPACE sizes the cache to the byte, the host's memory is the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fitserve.facts.gpu import Gpu
from fitserve.plan.cpu_rest import peak, processes
from fitserve.plan.given import Given
from fitserve.plan.kv import Layout, blocks_per_request, capacity, ceil_div, longest_length
from fitserve.plan.ledger import Interval, exact, ranged, total, verdict, weights_row, worst
from fitserve.plan.passes import rope_bytes
from fitserve.plan.plan import Basis, KvPlan, LedgerRow, Refused, Verdict
from fitserve.plan.settings import Limit, Settings
from fitserve.plan.sharding import Sharding, weight_bytes
from fitserve.text import tr
from fitserve.units import GIB

DEFAULT_LENGTH = 4096  # where neither the model nor the person says one
DEFAULT_STEP = 2048
DEFAULT_SEQS = 16
_REQUESTS_WANTED = 4  # that the cache should hold at full length, where memory allows
_SHARE_OF_MEMORY = 4  # the cache takes at most this part of what is free without being asked


@dataclass(frozen=True)
class Draft:
    """A ledger with its verdict: a plan without its words."""

    settings: Settings
    verdict: Verdict
    budget_bytes: int
    ledger: tuple[LedgerRow, ...]
    kv: KvPlan | None
    reasons: tuple[str, ...]
    refused: tuple[Refused, ...] = ()
    options: tuple[Refused, ...] = ()
    nearest: tuple[Refused, ...] = ()
    cards: tuple[Gpu, ...] = ()  # the chosen ones


def draft_cpu(given: Given) -> Draft:
    """Choose what was not asked for, and weigh it."""
    settings, reasons = choose(given)
    return weigh_cpu(given, settings, reasons)


def weigh_cpu(given: Given, settings: Settings, reasons: list[str]) -> Draft:
    """The ledger of given settings, and the verdict."""
    budget = given.host.memory_available_bytes // settings.tensor_parallel_size
    rows = _rows(given, settings)
    need = total(rows)
    layout = given.layout(settings)
    kv = None
    judged = verdict(need, budget)
    if not given.model.tensors:
        judged = worst((judged, Verdict.TIGHT))
        reasons.append(tr("plan.tight_because", why=tr("plan.weights_unknown")))
    if layout is None:
        judged = worst((judged, Verdict.TIGHT))
        reasons.append(tr("plan.tight_because", why=tr("plan.cache_unknown")))
    else:
        pool = (settings.cpu_kv_cache_space_gib or 0) * GIB
        kv = capacity(layout, pool, settings.max_model_len, given.request_shape(settings))
        if kv.blocks_per_request > kv.blocks - 1:
            judged = Verdict.DOES_NOT_FIT
            reasons.append(tr("plan.request_too_long", need=kv.blocks_per_request, have=kv.blocks - 1))
    if judged is Verdict.DOES_NOT_FIT and need.low > budget:
        reasons.append(tr("plan.cpu_over", need=f"{need.low / GIB:.2f}", have=f"{budget / GIB:.2f}"))
    left = Interval(budget - need.high, budget - need.expected, budget - need.low)
    rows.append(ranged("reserve", left, Basis.CALIBRATED, tr("plan.note_cpu_reserve")))
    return Draft(settings, judged, budget, tuple(rows), kv, tuple(reasons))


def choose(given: Given) -> tuple[Settings, list[str]]:
    """Settings for a CPU engine, with the reasons for what was chosen."""
    request, model = given.request, given.model
    articles = request.preset == "articles"
    eager, why = _execution(given)
    ranks = request.tensor_parallel_size or 1
    ceiling = model.max_positions or DEFAULT_LENGTH
    settings = Settings(
        tensor_parallel_size=ranks,
        enforce_eager=eager,
        max_model_len=request.max_model_len or (min(DEFAULT_LENGTH, ceiling) if articles else ceiling),
        max_num_seqs=request.max_num_seqs or DEFAULT_SEQS,
        max_num_batched_tokens=request.max_num_batched_tokens or DEFAULT_STEP,
        enable_prefix_caching=request.enable_prefix_caching is not False,
        kv_cache_dtype=request.kv_cache_dtype or "auto",
        cpu_kv_cache_space_gib=request.cpu_kv_cache_space_gib or 1,
        block_size=request.block_size,
        limit_mm_per_prompt=picture_limits(given),
        mm_processor_kwargs=request.mm_processor_kwargs,
        mm_encoder_tp_mode=request.mm_encoder_tp_mode or "weights",
        language_model_only=request.language_model_only,
        num_speculative_tokens=request.num_speculative_tokens,
        cpu_offload_gb=request.cpu_offload_gb,
        served_model_name=request.served_model_name or model.name,
        extra=request.extra,
    )
    reasons = [why, tr("plan.articles_preset")] if articles else [why]
    return _sized(given, settings, reasons)


def picture_limits(given: Given) -> dict[str, Limit]:
    """Pictures a request may carry: four, no video; nothing for a text model."""
    if given.request.limit_mm_per_prompt is not None:
        return given.request.limit_mm_per_prompt
    return {"image": 4, "video": 0} if given.model.vision else {}


def _execution(given: Given) -> tuple[bool, str]:
    if given.request.execution == "auto":
        return True, tr("plan.cpu_eager_auto")
    eager = given.request.execution == "eager"
    return eager, tr("plan.cpu_eager_asked" if eager else "plan.cpu_graphs_asked")


def _sized(given: Given, settings: Settings, reasons: list[str]) -> tuple[Settings, list[str]]:
    """The cache space and the length: what was asked is kept; what was not is made to fit."""
    layout = given.layout(settings)
    if layout is None:
        reasons.append(tr("plan.kv_unknown", architecture=given.model.architecture))
        return settings, reasons
    if given.request.cpu_kv_cache_space_gib is None:
        space = _space(given, settings, layout)
        settings = replace(settings, cpu_kv_cache_space_gib=space)
        reasons.append(tr("plan.cpu_space", gib=space))
    if given.request.max_model_len is None:
        settings = _longest(given, settings, layout, reasons)
    blocks = (settings.cpu_kv_cache_space_gib or 0) * GIB // layout.bytes_per_block
    if given.request.max_num_seqs is None and layout.state_groups and settings.max_num_seqs > blocks > 0:
        settings = replace(settings, max_num_seqs=blocks)
        reasons.append(tr("plan.seqs_by_state", seqs=blocks))
    return settings, reasons


def _space(given: Given, settings: Settings, layout: Layout) -> int:
    """Whole GiB for a few requests of full length, at most a part of the free memory, at least one."""
    request = given.request_shape(settings)
    wanted = _REQUESTS_WANTED * blocks_per_request(layout, settings.max_model_len, request) * layout.bytes_per_block
    limit = given.host.memory_available_bytes // settings.tensor_parallel_size // _SHARE_OF_MEMORY // GIB
    return max(1, min(ceil_div(wanted, GIB), limit))


def _longest(given: Given, settings: Settings, layout: Layout, reasons: list[str]) -> Settings:
    blocks = (settings.cpu_kv_cache_space_gib or 0) * GIB // layout.bytes_per_block
    longest = longest_length(layout, blocks, given.request_shape(settings), settings.max_model_len)
    if 0 < longest < settings.max_model_len:
        reasons.append(tr("plan.length_cut", length=longest, wanted=settings.max_model_len))
        return replace(settings, max_model_len=longest)
    return settings


def _rows(given: Given, settings: Settings) -> list[LedgerRow]:
    model = given.model
    sharding = Sharding(
        settings.tensor_parallel_size,
        vision=not settings.language_model_only,
        vision_data_mode=settings.mm_encoder_tp_mode == "data",
        drafts=settings.num_speculative_tokens > 0,
    )
    return [
        ranged("context", processes(settings), Basis.CALIBRATED, tr("plan.note_cpu_processes")),
        weights_row(weight_bytes(model, sharding), inferred=model.layout_inferred),
        exact("rope_cache", rope_bytes(model, given.rules.rope_factor), tr("plan.note_rope")),
        ranged("activation_peak", peak(model, settings), Basis.BOUND, tr("plan.note_cpu_peak")),
        exact("kv_pool", (settings.cpu_kv_cache_space_gib or 0) * GIB, tr("plan.note_cpu_kv")),
    ]
