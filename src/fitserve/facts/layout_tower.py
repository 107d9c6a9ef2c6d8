"""The modules of a vision tower that is known only by its config."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.layout_names import Naming, Tower
from fitserve.facts.model import Vision

Shape = tuple[int, ...]
_Entry = tuple[str, Shape, bool]  # name, shape, whether it is a linear module (then weight and bias are meant)


def tower_modules(vision: Vision, naming: Naming) -> Iterator[_Entry]:
    """Names with shapes; every linear module of these towers has a bias."""
    prefix, hidden = naming.tower_prefix, vision.hidden
    if naming.tower is Tower.NONE:
        return
    patch = (hidden, 3, vision.temporal_patch, vision.patch, vision.patch)
    yield f"{prefix}patch_embed.proj.weight", patch, False
    if naming.tower is Tower.QWEN3:
        yield f"{prefix}patch_embed.proj.bias", (hidden,), False
        yield f"{prefix}pos_embed.weight", (vision.positions or 0, hidden), False
    for index in range(vision.depth):
        yield from _block(vision, naming.tower, f"{prefix}blocks.{index}.")
    yield from _merger(vision, naming.tower, prefix)


def _block(vision: Vision, tower: Tower, prefix: str) -> Iterator[_Entry]:
    hidden, width = vision.hidden, vision.intermediate
    for norm in ("norm1", "norm2"):
        yield from _norm(f"{prefix}{norm}", hidden, bias=tower is not Tower.QWEN25)
    yield f"{prefix}attn.qkv", (3 * hidden, hidden), True
    yield f"{prefix}attn.proj", (hidden, hidden), True
    if tower is Tower.QWEN25:
        yield f"{prefix}mlp.gate_proj", (width, hidden), True
        yield f"{prefix}mlp.up_proj", (width, hidden), True
        yield f"{prefix}mlp.down_proj", (hidden, width), True
        return
    first, second = ("linear_fc1", "linear_fc2") if tower is Tower.QWEN3 else ("fc1", "fc2")
    yield f"{prefix}mlp.{first}", (width, hidden), True
    yield f"{prefix}mlp.{second}", (hidden, width), True


def _merger(vision: Vision, tower: Tower, prefix: str) -> Iterator[_Entry]:
    merged = vision.hidden * vision.merge**2
    if tower is not Tower.QWEN3:
        yield from _norm(f"{prefix}merger.ln_q", vision.hidden, bias=tower is Tower.QWEN2)
        yield f"{prefix}merger.mlp.0", (merged, merged), True
        yield f"{prefix}merger.mlp.2", (vision.out_hidden, merged), True
        return
    yield from _norm(f"{prefix}merger.norm", vision.hidden, bias=True)
    mergers = [f"{prefix}merger.", *(f"{prefix}deepstack_merger_list.{n}." for n in range(len(vision.deepstack)))]
    for number, merger in enumerate(mergers):
        if number:  # deepstack normalizes after the patches are joined
            yield from _norm(f"{merger}norm", merged, bias=True)
        yield f"{merger}linear_fc1", (merged, merged), True
        yield f"{merger}linear_fc2", (vision.out_hidden, merged), True


def _norm(name: str, width: int, *, bias: bool) -> Iterator[_Entry]:
    yield f"{name}.weight", (width,), False
    if bias:
        yield f"{name}.bias", (width,), False
