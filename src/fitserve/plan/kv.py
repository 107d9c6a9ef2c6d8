"""The KV cache as vLLM lays it out: pages, blocks, groups, blocks a request, printed tokens and concurrency.

Pure integer arithmetic, per rank. Sources: `v1/core/kv_cache_utils.py` (groups, capacity), `v1/kv_cache_interface.py`
(pages), `platforms/interface.py` `_align_hybrid_block_size` (block), `mamba_utils.py` (state) of vLLM 0.32 and 0.33.
"""

from __future__ import annotations

from dataclasses import dataclass

from fitserve.plan.plan import KvPlan


def ceil_div(value: int, divisor: int) -> int:
    """The quotient rounded up."""
    return -(-value // divisor)


@dataclass(frozen=True)
class CacheShape:
    """What one rank keeps: layers by kind, bytes of a token in one attention layer, bytes of one recurrent state."""

    full_layers: int
    sliding_layers: int
    state_layers: int
    token_bytes: int
    state_bytes: int
    window: int = 0

    @property
    def hybrid(self) -> bool:
        """Recurrent states and attention pages share one pool."""
        return self.state_layers > 0 and self.full_layers > 0


@dataclass(frozen=True)
class Layout:
    """Blocks: `group_layers` equal pages, one for each layer of a group. Every group takes ids from the same pool."""

    block_tokens: int
    page_bytes: int
    group_layers: int
    full_groups: int
    sliding_groups: int
    state_groups: int
    window: int = 0

    @property
    def bytes_per_block(self) -> int:
        """Bytes of the pool that one block id stands for."""
        return self.group_layers * self.page_bytes

    @property
    def groups(self) -> int:
        """Block tables that a request has."""
        return self.full_groups + self.sliding_groups + self.state_groups


@dataclass(frozen=True)
class RequestShape:
    """What a request of the full length keeps besides its tokens."""

    prefix_caching: bool
    speculative_tokens: int = 0
    in_flight_tokens: int = 2048  # a sliding window keeps these too until the step is over


def layout(shape: CacheShape, kernel_block: int) -> Layout:
    """Block, page and groups. `kernel_block`: the attention kernel's smallest block, or --block-size if larger.

    For hybrids the attention block grows until one page holds one recurrent state, and the state is padded to the page.
    """
    block = kernel_block
    if shape.hybrid:
        block = kernel_block * max(1, ceil_div(shape.state_bytes, kernel_block * shape.token_bytes))
    page = block * shape.token_bytes if shape.full_layers or shape.sliding_layers else shape.state_bytes
    size = _group_layers(shape)
    return Layout(
        block,
        page,
        size,
        full_groups=ceil_div(shape.full_layers, size),
        sliding_groups=ceil_div(shape.sliding_layers, size),
        state_groups=ceil_div(shape.state_layers, size),
        window=shape.window,
    )


def _group_layers(shape: CacheShape) -> int:
    """Layers of a group: the smallest kind's count; the largest's where the counts are near (below 1.5 to 1)."""
    counts = [count for count in (shape.full_layers, shape.sliding_layers, shape.state_layers) if count]
    least, most = min(counts), max(counts)
    return most if 2 * most < 3 * least else least


def blocks_per_request(plan: Layout, length: int, request: RequestShape) -> int:
    """Block ids that a request of `length` tokens holds at most."""
    return (
        plan.full_groups * ceil_div(length, plan.block_tokens)
        + plan.sliding_groups * _window_blocks(plan, length, request)
        + plan.state_groups * state_copies(request)
    )


def state_copies(request: RequestShape) -> int:
    """State blocks of a sequence and group: one, or two with prefix caching ("align"), and one a speculative token."""
    return (2 if request.prefix_caching else 1) + request.speculative_tokens


def _window_blocks(plan: Layout, length: int, request: RequestShape) -> int:
    kept = min(plan.window - 1 + request.in_flight_tokens, length)
    return ceil_div(kept, plan.block_tokens) + 1


def longest_length(plan: Layout, blocks: int, request: RequestShape, ceiling: int, spare_blocks: int = 1) -> int:
    """The longest request that `blocks` hold, at most `ceiling`; 0 where none fits. vLLM keeps one null block back."""
    low, high = 0, ceiling
    while low < high:
        middle = (low + high + 1) // 2
        if blocks_per_request(plan, middle, request) <= blocks - spare_blocks:
            low = middle
        else:
            high = middle - 1
    return low


def capacity(
    plan: Layout, pool_bytes: int, length: int, request: RequestShape, tokens_by_group: bool = False
) -> KvPlan:
    """The pool as vLLM sizes and prints it.

    `tokens_by_group`: up to 0.20.1 the printed tokens are blocks // groups * block; later they are
    concurrency * length (`get_kv_cache_capacity`), so the same pool prints other tokens at another length.
    """
    blocks = max(0, pool_bytes) // plan.bytes_per_block
    needed = blocks_per_request(plan, length, request)
    concurrency = blocks / needed
    tokens = blocks // plan.groups * plan.block_tokens if tokens_by_group else int(concurrency * length)
    return KvPlan(plan.block_tokens, plan.bytes_per_block, blocks, needed, tokens, concurrency)
