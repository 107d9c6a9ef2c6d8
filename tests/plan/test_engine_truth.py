"""The one end-to-end truth: what the plan says of the cache is what the real engine then resolves and prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_start import cache_config, engine, free_port, printed_capacity, started

from fitserve.demo import model_dir
from fitserve.facts.read import read_model
from fitserve.facts.read_host import read_host
from fitserve.plan.make import make_plan
from fitserve.plan.request import PlanRequest

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

SETTINGS = {
    "caching": PlanRequest(max_model_len=4096, max_num_seqs=8, cpu_kv_cache_space_gib=1),
    "no caching": PlanRequest(
        max_model_len=4096, max_num_seqs=8, cpu_kv_cache_space_gib=1, enable_prefix_caching=False
    ),
    "longer, more space": PlanRequest(max_model_len=8000, max_num_seqs=4, cpu_kv_cache_space_gib=2),
    "larger block": PlanRequest(
        max_model_len=1000, max_num_seqs=2, cpu_kv_cache_space_gib=1, block_size=160, max_num_batched_tokens=1024
    ),
    "two ranks": PlanRequest(max_model_len=2049, max_num_seqs=16, cpu_kv_cache_space_gib=1, tensor_parallel_size=2),
    "two ranks, no caching": PlanRequest(
        max_model_len=6000,
        max_num_seqs=3,
        cpu_kv_cache_space_gib=1,
        tensor_parallel_size=2,
        enable_prefix_caching=False,
        language_model_only=True,
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_plan_tells_what_the_engine_resolves(name: str, tmp_path: Path) -> None:
    from dataclasses import replace

    request = replace(SETTINGS[name], port=free_port())
    model = read_model(os.environ.get("FITSERVE_TEST_MODEL") or model_dir())
    plan = make_plan(request, model, engine(), read_host(), None)
    assert plan.kv is not None
    with started(plan, tmp_path / "engine.log") as url:
        real = cache_config(url)
    assert int(real["block_size"]) == plan.kv.block_tokens
    assert int(real["num_gpu_blocks"]) == plan.kv.blocks
    assert int(real["kv_cache_size_tokens"]) == plan.kv.tokens
    assert float(real["kv_cache_max_concurrency"]) == pytest.approx(plan.kv.concurrency, rel=1e-12)
    tokens, length, times = printed_capacity(tmp_path / "engine.log")
    assert (tokens, length) == (plan.kv.tokens, plan.settings.max_model_len)
    assert times == round(plan.kv.concurrency, 2)
