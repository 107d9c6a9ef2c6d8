"""Values that vLLM would refuse whatever the model: found before anything is weighed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace

from fitserve.plan.request import PlanRequest
from fitserve.text import tr

_COUNTS = (
    "tensor_parallel_size", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size",
    "kv_cache_memory_bytes", "max_cudagraph_capture_size",
)  # fmt: skip
# config/cache.py CacheDType (0.32), by how their names begin
_CACHE_DTYPES = ("auto", "float16", "bfloat16", "fp8", "nvfp4", "turboquant_", "ultraquant_", "int4_per", "int8_per")
_BLOCK_UNIT = 16  # attention kernels take multiples


def problems(request: PlanRequest) -> Iterator[tuple[str, str]]:
    """(field, what is wrong with its value)."""
    for name in _COUNTS:
        value = getattr(request, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            yield name, tr("plan.at_least_one", value=value)
    share = request.gpu_memory_utilization
    if share is not None and not (isinstance(share, (int, float)) and 0 < share <= 1):
        yield "gpu_memory_utilization", tr("plan.not_a_share", value=share)
    dtype = request.kv_cache_dtype
    if dtype is not None and not dtype.startswith(_CACHE_DTYPES):
        yield "kv_cache_dtype", tr("plan.no_cache_dtype", value=dtype)
    if isinstance(request.block_size, int) and request.block_size > 0 and request.block_size % _BLOCK_UNIT:
        yield "block_size", tr("plan.no_block_size", value=request.block_size, unit=_BLOCK_UNIT)
    yield from _pictures(request)


def _pictures(request: PlanRequest) -> Iterator[tuple[str, str]]:
    limits = request.limit_mm_per_prompt
    if limits is not None and not all(_is_limit(value) for value in limits.values()):
        yield "limit_mm_per_prompt", tr("plan.no_limits", value=limits)
    for name in ("min_pixels", "max_pixels"):
        value = request.mm_processor_kwargs.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            yield "mm_processor_kwargs", tr("plan.no_pixels", name=name, value=value)


def _is_limit(value: object) -> bool:
    """A count, or a table with a count and sizes, as vLLM takes it."""
    count = value.get("count", 1) if isinstance(value, Mapping) else value
    return isinstance(count, int) and not isinstance(count, bool) and count >= 0


def without(request: PlanRequest, names: set[str]) -> PlanRequest:
    """The request with these fields as if nobody had asked for them."""
    plain = {
        field.name: field.default_factory() if field.default_factory is not MISSING else field.default
        for field in fields(PlanRequest)
        if field.name in names
    }
    return replace(request, **plain)  # type: ignore[arg-type]  # defaults of the same fields


def flag_of(name: str) -> str:
    """vLLM's flag for a field."""
    return "--" + name.replace("_", "-")
