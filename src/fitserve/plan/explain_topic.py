"""What a setting really does, with this model's own figures on these cards: `fitserve explain TOPIC`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fitserve.facts.model import LayerKind
from fitserve.plan.captures import captures
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.gpu_rows import RankLedger
from fitserve.plan.kv import capacity, longest_length
from fitserve.plan.ladder import PIXEL_STEPS
from fitserve.plan.passes import picture_pixels, picture_tokens, sees
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import undivided
from fitserve.text import tr
from fitserve.units import format_gib

TOPICS = (
    "execution", "tensor-parallel", "pipeline-parallel", "utilization", "max-model-len", "block-size", "swap-space",
    "images",
)  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A model on cards under the settings that a plan chose."""

    given: Given
    settings: Settings

    @property
    def scale(self) -> Scale:
        """Weighs other settings for the same model and cards."""
        return Scale(self.given)

    def rank(self, **changes: object) -> RankLedger:
        """The ledger of a rank under changed settings."""
        changed: Settings = replace(self.settings, **changes)  # type: ignore[arg-type]  # field names of Settings
        return self.scale.weigh(changed).rank


def explain_topic(topic: str, given: Given, settings: Settings) -> list[str]:
    """Paragraphs in the reader's language. Raises KeyError for a topic that is not in TOPICS."""
    return list(_TOPICS[topic](Scene(given, settings)))


def _execution(scene: Scene) -> Iterator[str]:
    graphs = scene.rank(enforce_eager=False)
    found = captures(graphs.settings)
    yield tr("explain.execution_what")
    yield tr(
        "explain.execution_here", count=found.count, largest=found.largest, low=format_gib(graphs.graphs.low),
        high=format_gib(graphs.graphs.high), budget=format_gib(graphs.budget), weights=format_gib(graphs.weights),
    )  # fmt: skip
    if graphs.probe:
        yield tr("explain.execution_probe", probe=format_gib(graphs.probe))
    yield tr("explain.execution_origin")
    yield tr("explain.execution_measured")
    yield tr("explain.execution_flags")


def _tensor_parallel(scene: Scene) -> Iterator[str]:
    model = scene.given.model
    yield tr("explain.tp_what")
    for ranks in (1, 2, 4, 8):
        left = list(undivided(model, ranks))
        if left:
            yield tr("explain.tp_refused", ranks=ranks, names=", ".join(f"{name} {count}" for name, count in left))
            continue
        rank = scene.rank(tensor_parallel_size=ranks)
        layout = scene.given.layout(rank.settings)
        size = layout.bytes_per_block // layout.block_tokens if layout else 0
        yield tr("explain.tp_line", ranks=ranks, weights=format_gib(rank.weights), token=f"{size:,}")
    heads = model.attention.kv_heads if model.attention else 0
    if heads:
        yield tr("explain.tp_heads", heads=heads)
    yield tr("explain.tp_cost", sums=2 * len(model.layers), cards=len(scene.given.gpus or ()))


def _pipeline_parallel(scene: Scene) -> Iterator[str]:
    yield tr("explain.pp_what", layers=len(scene.given.model.layers))
    yield tr("explain.pp_here")


def _utilization(scene: Scene) -> Iterator[str]:
    rank = scene.rank()
    total = rank.card.total_bytes
    layout = scene.given.layout(rank.settings)
    yield tr("explain.utilization_what", share=rank.settings.gpu_memory_utilization or "–", total=format_gib(total),
             budget=format_gib(rank.budget))  # fmt: skip
    yield tr("explain.utilization_outside", low=format_gib(rank.context.low), high=format_gib(rank.context.high),
             left=format_gib(total - rank.budget))  # fmt: skip
    if layout:
        blocks = total // 100 // layout.bytes_per_block
        yield tr("explain.utilization_step", gib=format_gib(total // 100), blocks=blocks,
                 tokens=f"{blocks * layout.block_tokens:,}")  # fmt: skip
    yield tr("explain.utilization_weights")


def _length(scene: Scene) -> Iterator[str]:
    rank = scene.rank()
    layout = scene.given.layout(rank.settings)
    yield tr("explain.length_what")
    if layout is None:
        return
    shape, pool = scene.given.request_shape(rank.settings), max(0, rank.pool.expected)
    for length in (4096, 32768, 131072, 262144):
        if length <= (scene.given.model.max_positions or length):
            kv = capacity(layout, pool, length, shape)
            gib, times = format_gib(kv.blocks_per_request * kv.bytes_per_block), f"{kv.concurrency:.1f}"
            said = f"{length:,}"
            yield tr("explain.length_line", length=said, blocks=kv.blocks_per_request, times=times, gib=gib)
    ceiling = scene.given.model.max_positions or 2**20
    longest = longest_length(layout, pool // layout.bytes_per_block, shape, ceiling)
    yield tr("explain.length_longest", longest=f"{longest:,}", ceiling=f"{ceiling:,}")


def _block(scene: Scene) -> Iterator[str]:
    settings = scene.settings
    layout = scene.given.layout(settings)
    if layout is None:
        yield tr("plan.cache_unknown")
        return
    if layout.state_groups:
        smaller = scene.given.layout(replace(settings, block_size=32))
        yield tr("explain.block_hybrid", block=layout.block_tokens, page=f"{layout.page_bytes:,}",
                 asked=smaller.block_tokens if smaller else "–")  # fmt: skip
        yield tr("explain.block_state", states=scene.given.model.count(LayerKind.LINEAR_ATTENTION),
                 groups=layout.state_groups, full=layout.full_groups)  # fmt: skip
    else:
        yield tr("explain.block_plain", block=layout.block_tokens, size=f"{layout.bytes_per_block:,}")
    yield tr("explain.block_use")


def _swap(_: Scene) -> Iterator[str]:
    yield tr("explain.swap_gone")
    yield tr("explain.swap_instead")


def _images(scene: Scene) -> Iterator[str]:
    vision, settings = scene.given.model.vision, scene.settings
    if vision is None or not sees(scene.given.model, settings):
        yield tr("explain.images_none")
        return
    cell = vision.patch * vision.merge
    yield tr("explain.images_tokens", cell=cell, small=vision.tokens(1024, 1024), large=vision.tokens(3072, 2048))
    own = picture_pixels(vision, replace(settings, mm_processor_kwargs={}))
    for pixels in (own, *PIXEL_STEPS):
        if pixels > own:
            continue
        rank = scene.rank(mm_processor_kwargs={"max_pixels": pixels})
        said = tr("explain.images_line", side=round(pixels**0.5), tokens=f"{picture_tokens(vision, rank.settings):,}",
                  own=format_gib(rank.passes["vision"].expected), cache=format_gib(rank.encoder))  # fmt: skip
        yield said + _below_the_peak(rank)
    yield tr("explain.images_flags")
    yield tr("explain.images_new")


def _below_the_peak(rank: RankLedger) -> str:
    """Whose the peak is, where it is not the picture's."""
    most = max(rank.passes, key=lambda name: rank.passes[name].expected)
    if most == "vision":
        return ""
    return tr("explain.images_below", name=tr(f"explain.pass_{most}"), peak=format_gib(rank.peak.expected))


_TOPICS: dict[str, Callable[[Scene], Iterator[str]]] = {
    "execution": _execution,
    "tensor-parallel": _tensor_parallel,
    "pipeline-parallel": _pipeline_parallel,
    "utilization": _utilization,
    "max-model-len": _length,
    "block-size": _block,
    "swap-space": _swap,
    "images": _images,
}
