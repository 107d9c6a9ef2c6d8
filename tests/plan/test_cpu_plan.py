"""The plan of a CPU engine: what was asked is kept, what was not is made to fit, verdicts are honest."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from plan_models import cpu_engine, host, tiny

from fitserve.facts.model import LayerKind
from fitserve.plan.document import plan_document
from fitserve.plan.ledger import total
from fitserve.plan.make import failures, make_plan
from fitserve.plan.plan import CheckState, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.units import GIB


def planned(memory: int = 16 * GIB, **asked: object) -> Plan:
    return make_plan(PlanRequest(**asked), tiny(), cpu_engine(), host(memory), None)  # type: ignore[arg-type] # test's own names


def test_what_was_asked_is_kept() -> None:
    plan = planned(max_model_len=4096, max_num_seqs=8, cpu_kv_cache_space_gib=2, enable_prefix_caching=False)
    assert plan.settings.max_model_len == 4096
    assert plan.settings.cpu_kv_cache_space_gib == 2
    assert plan.env["VLLM_CPU_KVCACHE_SPACE"] == "2"
    assert plan.verdict is Verdict.FITS
    assert plan.kv is not None
    assert (plan.kv.block_tokens, plan.kv.blocks, plan.kv.blocks_per_request) == (128, 16384, 32 + 3)


def test_a_cache_asked_for_in_a_gpu_s_words_is_told() -> None:
    told = [check.detail for check in planned(kv_cache_memory_bytes=16 << 20).checks if check.name == "cpu_cache"]
    assert len(told) == 1
    assert "--kv-cache-space" in told[0]
    assert not [check for check in planned(cpu_kv_cache_space_gib=2).checks if check.name == "cpu_cache"]


def test_auto_is_eager_on_a_processor_with_the_reason() -> None:
    plan = planned()
    assert plan.settings.enforce_eager
    assert any("ager" in reason for reason in plan.reasons)
    assert not planned(execution="graphs").settings.enforce_eager


def test_too_small_a_machine_does_not_fit_and_still_has_its_ledger() -> None:
    plan = planned(memory=1 * GIB)
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert not plan.fits
    assert plan.ledger


def test_a_length_that_the_cache_cannot_hold_does_not_fit() -> None:
    plan = planned(max_model_len=3_000_000, cpu_kv_cache_space_gib=1)
    assert plan.verdict is Verdict.DOES_NOT_FIT


def test_an_unknown_architecture_has_weights_and_no_blocks() -> None:
    model = replace(tiny(), layers=(LayerKind.UNKNOWN,) * 8, architecture="NobodyKnows")
    plan = make_plan(PlanRequest(), model, cpu_engine(), host(), None)
    assert plan.kv is None
    assert plan.checks[0].state is CheckState.UNKNOWN


def test_ranks_that_do_not_divide_fail_a_check() -> None:
    plan = planned(tensor_parallel_size=3)
    assert [check.name for check in failures(plan.checks)] == ["tensor_parallel_divides"]


def test_document_has_the_designs_keys() -> None:
    document = plan_document(planned())
    assert json.loads(json.dumps(document)) == document
    assert list(document)[:4] == ["schema_version", "kind", "verdict", "fits"]
    for key in ("settings", "command", "env", "ledger", "kv", "reasons", "refused", "checks"):
        assert key in document
    settings_keys = {"tensor_parallel_size", "enforce_eager", "max_model_len", "gpu_memory_utilization", "max_num_seqs",
                     "max_num_batched_tokens", "kv_cache_dtype", "enable_prefix_caching"}  # fmt: skip
    assert settings_keys <= set(document["settings"])  # type: ignore[call-overload] # a table


@given(st.integers(1 * GIB, 64 * GIB), st.sampled_from([1, 2]), st.integers(1, 40), st.booleans())
@settings(deadline=None)
def test_a_plan_that_fits_stays_within_its_budget(memory: int, ranks: int, space: int, eager: bool) -> None:
    plan = planned(memory, tensor_parallel_size=ranks, cpu_kv_cache_space_gib=space,
                   execution="eager" if eager else "graphs")  # fmt: skip
    need = total(plan.ledger)
    assert need.low <= need.expected <= need.high
    if plan.verdict is Verdict.FITS:
        assert need.high <= plan.budget_bytes
