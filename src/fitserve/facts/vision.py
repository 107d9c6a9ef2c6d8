"""The vision tower of a config, and the picture sizes that its processor allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fitserve.facts.config import Table
from fitserve.facts.families import Family
from fitserve.facts.model import Vision

_IMAGE_FILES = ("preprocessor_config.json", "processor_config.json")
_VIDEO_FILES = ("video_preprocessor_config.json", "processor_config.json")
PROCESSOR_FILES = tuple(dict.fromkeys(_IMAGE_FILES + _VIDEO_FILES))
Extras = Mapping[str, dict[str, object]]  # the objects in PROCESSOR_FILES, by file name, as far as there are


def vision(config: dict[str, object], extras: Extras, family: Family | None) -> Vision | None:
    """The tower with its limits; None where there is none or it is of a make that we can't measure."""
    raw = config.get("vision_config")
    if not isinstance(raw, dict) or not raw:
        return None
    tower = _tower(Table(raw, "config.json vision_config"))
    return _with_limits(tower, extras, family) if tower else None


def _tower(table: Table) -> Vision | None:
    depth = table.count("depth", "num_hidden_layers", most=10_000)
    hidden, out = table.count("embed_dim", "hidden_size"), table.count("out_hidden_size", "hidden_size")
    heads, patch = table.count("num_heads", "num_attention_heads"), table.count("patch_size", "spatial_patch_size")
    ratio = table.number("mlp_ratio")  # Qwen2-VL has it in place of intermediate_size
    intermediate = table.count("intermediate_size") or (int(hidden * ratio) if hidden and ratio else None)
    if not (depth and hidden and out and heads and patch and intermediate):
        return None
    return Vision(
        depth=depth,
        hidden=hidden,
        heads=heads,
        patch=patch,
        merge=table.count("spatial_merge_size") or 1,
        out_hidden=out,
        intermediate=intermediate,
        min_pixels=None,
        max_pixels=None,
        temporal_patch=table.count("temporal_patch_size") or 1,
        positions=table.count("num_position_embeddings"),
        deepstack=table.counts("deepstack_visual_indexes"),
        window=table.count("window_size"),
        full_blocks=table.counts("fullatt_block_indexes"),
    )


def _with_limits(tower: Vision, extras: Extras, family: Family | None) -> Vision:
    least, most = _limits(extras, _IMAGE_FILES, "image_processor")
    video = _limits(extras, _VIDEO_FILES, "video_processor")[1]
    if most is None and family and family.image_limits:
        least, most = family.image_limits
        return replace(
            tower, min_pixels=least, max_pixels=most, max_video_pixels=video or family.video_limit, limits_assumed=True
        )
    return replace(tower, min_pixels=least, max_pixels=most, max_video_pixels=video)


def _limits(extras: Extras, files: tuple[str, ...], section: str) -> tuple[int | None, int | None]:
    """Least and most pixels of the first file that says them. min_pixels and max_pixels win over size, as upstream."""
    for name in files:
        if name in extras:
            table = Table(extras[name], name)
            inner = table.table(section) if isinstance(table.values.get(section), dict) else table
            found = _pixels(inner)
            if found[1] is not None:
                return found
    return None, None


def _pixels(table: Table) -> tuple[int | None, int | None]:
    """Qwen's processors keep pixel counts in size.shortest_edge and size.longest_edge."""
    size = table.table("size") if isinstance(table.values.get("size"), dict) else Table({}, table.place)
    least = table.count("min_pixels", least=0) or size.count("min_pixels", "shortest_edge", least=0)
    most = table.count("max_pixels", least=0) or size.count("max_pixels", "longest_edge", least=0)
    return least, most
