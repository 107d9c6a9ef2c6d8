"""What can be given up for memory, in the order of the least loss; each rung yields the changes it would make.

The order: the largest picture, sequences, tokens a step, the cache's dtype, the length (only when none was asked), the
capture list, the reserve beside the budget, all but a few sequences, and graphs last. The length comes again after each
of the last three: where there was no room for any length before, there may be some now. What was asked stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fitserve.plan.gpu import Scale, Weighed
from fitserve.plan.kv import longest_length
from fitserve.plan.passes import picture_pixels, sees
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings
from fitserve.text import tr

PIXEL_STEPS = (4_194_304, 1_048_576)  # 2048 and 1024 pixels a side: 4,096 and 1,024 tokens for Qwen's towers
SEQS_STEPS, FEWEST_SEQS = (64, 32, 16), (8, 4, 1)
TOKEN_STEPS = (2048, 1024, 512)
GRAPH_STEPS = (16, 4)
SHORTEST = 2048


@dataclass(frozen=True)
class Step:
    """Something given up: changed fields of the settings, and the sentence that says so."""

    changes: dict[str, object]
    said: str

    def apply(self, settings: Settings) -> Settings:
        """The settings with the changes."""
        return replace(settings, **self.changes)  # type: ignore[arg-type]  # field names of Settings


Rung = Callable[[Scale, Weighed], Iterator[Step]]


def rungs(request: PlanRequest) -> list[Rung]:
    """The rungs that the request leaves free."""
    free: tuple[tuple[bool, Rung], ...] = (
        (not request.mm_processor_kwargs, smaller_pictures),
        (request.max_num_seqs is None, fewer_seqs),
        (request.max_num_batched_tokens is None, smaller_steps),
        (request.kv_cache_dtype is None, smaller_cache),
        (request.max_model_len is None, shorter),
        (request.execution != "eager" and request.max_cudagraph_capture_size is None, fewer_graphs),
        (request.gpu_memory_utilization is None and request.kv_cache_memory_bytes is None, more_utilization),
        (request.max_model_len is None, shorter),
        (request.max_num_seqs is None, fewest_seqs),
        (request.max_model_len is None, shorter),
        (request.execution == "auto", eager),
        (request.max_model_len is None, shorter),
    )
    return [rung for is_free, rung in free if is_free]


def smaller_pictures(scale: Scale, weighed: Weighed) -> Iterator[Step]:
    """Pictures above the cap are shrunk by the processor; the vision pass and its cache shrink with it."""
    vision, settings = scale.given.model.vision, weighed.settings
    if vision is None or not sees(scale.given.model, settings):
        return
    for pixels in PIXEL_STEPS:
        if pixels < picture_pixels(vision, settings):
            side = round(pixels**0.5)
            yield Step({"mm_processor_kwargs": {"max_pixels": pixels}}, tr("plan.gave_pixels", side=side))


def fewer_seqs(_: Scale, weighed: Weighed) -> Iterator[Step]:
    """Sampler tables, logits, the capture list and the probe's cache shrink."""
    yield from _seqs(weighed, SEQS_STEPS)


def fewest_seqs(_: Scale, weighed: Weighed) -> Iterator[Step]:
    """A service for a few requests at once."""
    yield from _seqs(weighed, FEWEST_SEQS)


def _seqs(weighed: Weighed, steps: tuple[int, ...]) -> Iterator[Step]:
    for seqs in steps:
        if seqs < weighed.settings.max_num_seqs:
            yield Step({"max_num_seqs": seqs}, tr("plan.gave_seqs", seqs=seqs))


def smaller_steps(scale: Scale, weighed: Weighed) -> Iterator[Step]:
    """Workspaces and activations shrink."""
    settings = weighed.settings
    for tokens in TOKEN_STEPS:
        if settings.max_num_seqs <= tokens < settings.max_num_batched_tokens:
            whole = at_least_a_block(scale, replace(settings, max_num_batched_tokens=tokens))
            yield Step({"max_num_batched_tokens": whole}, tr("plan.gave_step", tokens=whole))


def smaller_cache(scale: Scale, weighed: Weighed) -> Iterator[Step]:
    """Attention pages halve; recurrent states do not."""
    capability = weighed.rank.card.compute_capability
    if weighed.settings.kv_cache_dtype == "auto" and (capability is None or capability >= (8, 0)):
        changes = block_changes(scale, replace(weighed.settings, kv_cache_dtype="fp8"))
        if changes is not None:
            yield Step({"kv_cache_dtype": "fp8", **changes}, tr("plan.gave_fp8"))


def shorter(scale: Scale, weighed: Weighed) -> Iterator[Step]:
    """The longest that fits even at the bad end of the intervals, in whole 1024s."""
    settings, pool = weighed.settings, weighed.rank.pool.low
    layout = scale.given.layout(settings)
    if layout is None or pool <= 0:
        return
    request = scale.given.request_shape(settings)
    longest = longest_length(layout, pool // layout.bytes_per_block, request, settings.max_model_len)
    length = longest // 1024 * 1024
    if SHORTEST <= length < settings.max_model_len:
        yield Step({"max_model_len": length}, tr("plan.gave_length", length=f"{length:,}"))


def fewer_graphs(_: Scale, weighed: Weighed) -> Iterator[Step]:
    """Only small batches are captured; larger ones run compiled without a graph."""
    for size in GRAPH_STEPS:
        if not weighed.settings.enforce_eager and size < 2 * weighed.settings.max_num_seqs:
            yield Step({"max_cudagraph_capture_size": size}, tr("plan.gave_graphs", size=size))


def more_utilization(scale: Scale, weighed: Weighed) -> Iterator[Step]:
    """The budget as large as the free memory beside the context allows."""
    raised = scale.highest_utilization(weighed.settings)
    if raised > (weighed.settings.gpu_memory_utilization or 0):
        yield Step({"gpu_memory_utilization": raised}, tr("plan.gave_reserve", share=raised))


def eager(_: Scale, weighed: Weighed) -> Iterator[Step]:
    """No graphs, no compiling: the last resort."""
    if not weighed.settings.enforce_eager:
        yield Step({"enforce_eager": True, "max_cudagraph_capture_size": None}, tr("plan.gave_eager"))


def block_changes(scale: Scale, settings: Settings) -> dict[str, object] | None:
    """What lets a step hold a whole block: a longer step, else no prefix caching; None where both were asked."""
    request, whole = scale.given.request, at_least_a_block(scale, settings)
    if whole == settings.max_num_batched_tokens:
        return {}
    if request.max_num_batched_tokens is None:
        return {"max_num_batched_tokens": whole}
    return {"enable_prefix_caching": False} if request.enable_prefix_caching is None else None


def at_least_a_block(scale: Scale, settings: Settings) -> int:
    """Tokens a step, raised to a whole block where the version asserts that with prefix caching."""
    layout = scale.given.layout(settings)
    asserted = scale.given.rules.block_within_step and settings.enable_prefix_caching
    if layout is None or not layout.state_groups or not asserted:
        return settings.max_num_batched_tokens
    return max(settings.max_num_batched_tokens, layout.block_tokens)
