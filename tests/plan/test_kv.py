"""KV arithmetic: known answers from public logs and our own runs, and laws that hold for any shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_models import dense_27b, half_lead, lead, llama_8b

from fitserve.facts.model import ModelFacts
from fitserve.plan.cache_shape import cache_shape
from fitserve.plan.kv import (
    CacheShape,
    Layout,
    RequestShape,
    blocks_per_request,
    capacity,
    layout,
    longest_length,
)
from fitserve.units import GIB

ON, OFF = RequestShape(prefix_caching=True), RequestShape(prefix_caching=False)


def of(model: ModelFacts, ranks: int, dtype: str = "auto", speculative: int = 0) -> Layout:
    shape = cache_shape(model, ranks, dtype, speculative)
    assert shape is not None
    return layout(shape, 16)


# ranks, KV dtype, block, page, bytes a block, blocks at 262,144, 131,072 and 32,768 tokens with prefix caching
LEAD = [
    (1, "auto", 1056, 2_162_688, 21_626_880, 255, 131, 38),
    (1, "fp8", 2096, 2_146_304, 21_463_040, 132, 69, 22),
    (2, "auto", 1056, 1_081_344, 10_813_440, 255, 131, 38),
    (2, "fp8", 2096, 1_073_152, 10_731_520, 132, 69, 22),
    (4, "auto", 528, 540_672, 5_406_720, 503, 255, 69),
    (4, "fp8", 1056, 540_672, 5_406_720, 255, 131, 38),
]


@pytest.mark.parametrize(("ranks", "dtype", "block", "page", "block_bytes", "full", "half", "short"), LEAD)
def test_lead_model_blocks(
    ranks: int, dtype: str, block: int, page: int, block_bytes: int, full: int, half: int, short: int
) -> None:
    plan = of(lead(), ranks, dtype)
    assert (plan.block_tokens, plan.page_bytes, plan.bytes_per_block) == (block, page, block_bytes)
    assert [blocks_per_request(plan, length, ON) for length in (262144, 131072, 32768)] == [full, half, short]


# What public logs and our own runs printed: model, ranks, dtype, drafts, prefix caching, length, pool, tokens, times
PRINTED = [
    pytest.param(lead(), 2, "fp8", 0, True, 262144, 1658, 3_292_687, 12.56, id="35B 2x5090 0.25.1"),
    pytest.param(lead(), 1, "fp8", 0, True, 131072, 300, 569_878, 4.35, id="35B 1x5090 0.24.0"),
    pytest.param(lead(), 1, "fp8", 0, True, 65536, 100, 172_463, 2.63, id="35B 2 GiB 0.25.1"),
    pytest.param(lead(), 1, "fp8", 0, True, 8192, 38, 31_129, 3.80, id="35B 1x3090 0.22.0"),
    pytest.param(dense_27b(), 2, "fp8", 3, True, 262144, 426, 623_873, 2.38, id="27B drafts 0.24.0"),
    pytest.param(dense_27b(), 2, "fp8", 0, True, 262144, 411, 619_202, 2.36, id="27B 2x3090 0.20.2"),
    pytest.param(half_lead(), 1, "auto", 0, False, 4096, 757, 442_953, 108.14, id="half eager H200 0.22.1"),
    pytest.param(half_lead(), 1, "auto", 0, False, 4096, 696, 407_259, 99.43, id="half graphs H200 0.22.1"),
]


@pytest.mark.parametrize(
    ("model", "ranks", "dtype", "drafts", "caching", "length", "blocks", "tokens", "times"), PRINTED
)
def test_printed_capacity(
    model: ModelFacts,
    ranks: int,
    dtype: str,
    drafts: int,
    caching: bool,
    length: int,
    blocks: int,
    tokens: int,
    times: float,
) -> None:
    plan = of(model, ranks, dtype, drafts)
    kv = capacity(plan, blocks * plan.bytes_per_block, length, RequestShape(caching, drafts))
    assert kv.blocks == blocks
    assert kv.tokens == tokens
    assert round(kv.concurrency, 2) == times


def test_fixed_pool_of_two_gib_holds_a_hundred_blocks() -> None:
    plan = of(lead(), 1, "fp8")
    assert capacity(plan, 2 * GIB, 65536, ON).tokens == 172_463


def test_plain_attention_prints_blocks_times_block() -> None:
    plan = of(llama_8b(), 1)
    kv = capacity(plan, 3 * GIB, 4096, OFF)
    assert plan.bytes_per_block == 32 * 16 * 2 * 8 * 128 * 2
    assert kv.tokens == kv.blocks * 16


def test_old_versions_print_by_group() -> None:
    plan = of(lead(), 2)
    kv = capacity(plan, 100 * plan.bytes_per_block, 4096, OFF, tokens_by_group=True)
    assert kv.tokens == 100 // 4 * 1056


def test_sliding_window_keeps_window_and_step() -> None:
    shape = CacheShape(full_layers=8, sliding_layers=40, state_layers=0, token_bytes=4096, state_bytes=0, window=1024)
    plan = layout(shape, 16)
    request = RequestShape(prefix_caching=True, in_flight_tokens=2048)
    assert (plan.full_groups, plan.sliding_groups) == (1, 5)
    assert blocks_per_request(plan, 131072, request) == 8192 + 5 * (192 + 1)


shapes = st.builds(
    CacheShape,
    full_layers=st.integers(1, 80),
    sliding_layers=st.just(0),
    state_layers=st.integers(0, 120),
    token_bytes=st.sampled_from([512, 1024, 2048, 2080, 4096]),
    state_bytes=st.integers(1, 5_000_000),
)
requests = st.builds(RequestShape, prefix_caching=st.booleans(), speculative_tokens=st.integers(0, 4))


@given(shapes, requests, st.integers(1, 300_000), st.integers(0, 40 * GIB))
def test_a_longer_request_never_takes_fewer_blocks(
    shape: CacheShape, request: RequestShape, length: int, pool: int
) -> None:
    plan = layout(shape, 16)
    assert blocks_per_request(plan, length + 1, request) >= blocks_per_request(plan, length, request)
    assert capacity(plan, pool, length + 1, request).concurrency <= capacity(plan, pool, length, request).concurrency


@given(shapes, requests, st.integers(0, 4000), st.integers(1, 300_000))
def test_the_longest_length_fits_and_one_more_does_not(
    shape: CacheShape, request: RequestShape, blocks: int, ceiling: int
) -> None:
    plan = layout(shape, 16)
    longest = longest_length(plan, blocks, request, ceiling)
    if longest:
        assert blocks_per_request(plan, longest, request) <= blocks - 1
    if longest < ceiling:
        assert blocks_per_request(plan, longest + 1, request) > blocks - 1


@given(shapes, st.integers(0, 40 * GIB))
def test_blocks_never_pass_the_pool_and_a_page_holds_a_state(shape: CacheShape, pool: int) -> None:
    plan = layout(shape, 16)
    assert capacity(plan, pool, 4096, ON).blocks * plan.bytes_per_block <= pool
    if shape.hybrid:
        assert plan.page_bytes >= shape.state_bytes
        assert plan.page_bytes - 16 * shape.token_bytes < shape.state_bytes
