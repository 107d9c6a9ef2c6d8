"""The lead model on the cards people have: the choice, its reasons, what is refused, and laws of every ledger."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_models import gpu_engine, host

from fitserve.facts.gpu import Gpu
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import read_known
from fitserve.facts.model import ModelFacts
from fitserve.plan.gpu_rows import Weights
from fitserve.plan.ledger import OUTSIDE_BUDGET
from fitserve.plan.make import make_plan
from fitserve.plan.parse import parse
from fitserve.plan.plan import Basis, CheckState, LedgerRow, Plan, Verdict
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings
from fitserve.plan.sharding import vocab_bytes, vocab_split
from fitserve.text import tr
from fitserve.units import GIB


@cache
def lead() -> ModelFacts:
    return read_known("qwen3.5-35b-a3b-awq-4bit")


def cards(text: str) -> tuple[Gpu, ...]:
    found = parse_gpus(text)
    assert isinstance(found, tuple)
    return found


def planned(gpus: str | tuple[Gpu, ...], version: str = "0.33.0", **asked: object) -> Plan:
    request = PlanRequest(**asked)  # type: ignore[arg-type]  # the test's own names
    return make_plan(request, lead(), gpu_engine(version), host(), cards(gpus) if isinstance(gpus, str) else gpus)


@pytest.mark.parametrize(("ranks", "expected"), [(1, 22.27), (2, 11.16), (4, 5.61)])
def test_lead_model_weights(ranks: int, expected: float) -> None:
    size = Weights(lead()).of(Settings(ranks, False, 4096, 64, 2048, True))
    assert round(size / GIB, 2) == expected


EXACT = {  # bytes of one rank at 1, 2 and 4 ranks, from the headers of the three formats
    "qwen3.5-35b-a3b-awq-4bit": (23_909_739_232, 11_980_959_472, 6_027_055_352),
    "qwen3.5-35b-a3b-gptq-int4": (22_525_127_392, 11_292_339_952, 5_686_431_992),
    "qwen3.5-35b-a3b": (70_214_363_872, 35_133_026_032, 17_602_842_872),
}


@pytest.mark.parametrize("name", EXACT)
def test_weights_to_the_byte(name: str) -> None:
    weights = Weights(read_known(name))
    found = tuple(weights.of(Settings(ranks, False, 4096, 64, 2048, True)) for ranks in (1, 2, 4))
    assert found == EXACT[name]


def test_what_is_not_loaded_is_not_counted() -> None:
    weights = Weights(lead())
    whole, text = (Settings(1, False, 4096, 64, 2048, True, language_model_only=only) for only in (False, True))
    no_pictures = replace(whole, limit_mm_per_prompt={"image": 0, "video": 0})
    drafting = replace(whole, num_speculative_tokens=1)
    assert weights.of(text) == weights.of(no_pictures) < weights.of(whole) < weights.of(drafting)
    assert lead().checkpoint_bytes > weights.of(whole)
    data_mode = Settings(2, False, 4096, 64, 2048, True, mm_encoder_tp_mode="data")
    assert round(weights.of(data_mode) / GIB, 2) == 11.57


def test_two_cards_of_24_fit_with_graphs_at_full_length() -> None:
    plan = planned("2xRTX3090")
    assert plan.verdict is Verdict.FITS
    assert plan.settings.tensor_parallel_size == 2
    assert not plan.settings.enforce_eager
    assert plan.settings.max_model_len == 262_144
    assert plan.settings.kv_cache_dtype == "auto"
    assert plan.kv is not None
    assert (plan.kv.block_tokens, plan.kv.bytes_per_block, plan.kv.blocks_per_request) == (1056, 10_813_440, 255)
    assert "22.27" in plan.refused[0].why


def test_one_card_of_24_does_not_fit_and_names_what_would() -> None:
    plan = planned("1xRTX3090")
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert plan.settings.max_model_len == 262_144, "nothing is given up in vain"
    assert {"tensor_parallel_size": 2} in [other.settings for other in plan.nearest]
    assert {"language_model_only": True} in [other.settings for other in plan.nearest]


def test_four_cards_say_that_kv_heads_are_copied() -> None:
    plan = planned("4xRTX3090")
    assert plan.settings.tensor_parallel_size == 4
    assert any("2" in reason and "4" in reason and "KV" in reason for reason in plan.reasons)


def test_eight_cards_say_why_not_eight_ranks() -> None:
    plan = planned("8xRTX3090")
    assert plan.settings.tensor_parallel_size == 4
    why = {refused.settings["tensor_parallel_size"]: refused.why for refused in plan.refused}
    assert "80" in why[8]


def test_what_was_asked_is_kept_and_the_rest_gives_way() -> None:
    plan = planned("2x16GiB", max_model_len=262_144)
    assert plan.verdict is Verdict.FITS
    assert plan.settings.max_model_len == 262_144
    assert plan.settings.limit_mm_per_prompt == {"image": 4, "video": 0}
    assert not plan.settings.language_model_only


def test_the_articles_preset_takes_every_card_eager_at_4096() -> None:
    chosen = planned("2xRTX3090", preset="articles").settings
    assert (chosen.tensor_parallel_size, chosen.enforce_eager, chosen.max_model_len) == (2, True, 4096)


def test_unequal_cards_follow_the_smaller_one() -> None:
    plan = planned("1xRTX5090+1xRTX3090", tensor_parallel_size=2)
    assert plan.budget_bytes < 22 * GIB
    assert "cards_equal" in [check.name for check in plan.checks]


def test_a_card_in_use_lowers_the_utilization() -> None:
    busy = tuple(replace(card, free_bytes=card.total_bytes - 3 * GIB, assumed=False) for card in cards("2xRTX3090"))
    plan = planned(busy)
    assert plan.settings.gpu_memory_utilization is not None
    assert plan.settings.gpu_memory_utilization < 0.86
    assert plan.verdict is Verdict.FITS


def test_the_step_holds_a_block_where_the_version_asserts_it() -> None:
    plan = planned("2xRTX3090", version="0.22.1", kv_cache_dtype="fp8")
    assert plan.settings.max_num_batched_tokens >= 2096
    assert planned("2xRTX3090", kv_cache_dtype="fp8").settings.max_num_batched_tokens == 2048


def test_what_is_taken_back_leaves_a_step_that_holds_a_block() -> None:
    """The cache in fp8 has larger blocks; the step that an earlier rung shortened must not go back below them."""
    plan = planned("1xRTX5090", version="0.22.1")
    assert plan.settings.kv_cache_dtype == "fp8"
    assert plan.settings.max_num_batched_tokens >= 2096
    assert not [check for check in plan.checks if check.state is CheckState.FAIL]


def test_pictures_need_room_outside_the_budget_when_they_are_served() -> None:
    """Two H200s held down to 23.56 GiB: what started with 0.36 GiB left ended at the largest picture."""
    seeing, blind = planned("2xRTX3090"), planned("2xRTX3090", language_model_only=True)
    assert reserve(seeing).low >= 512 * 2**20 > reserve(blind).low


def test_a_kind_with_nvlink_and_no_file_of_its_own_is_weighed_like_those_that_have_one() -> None:
    """Two H200 held 2.00 GiB each before the engine looked; the common file knows cards without NVLink."""
    context = next(row for row in planned("2xA100-80GB").ledger if row.item == "context")
    assert context.low < 2.0 * GIB < context.high
    assert context.basis is Basis.BOUND


def reserve(plan: Plan) -> LedgerRow:
    return next(row for row in plan.ledger if row.item == "reserve")


def test_the_probe_of_older_versions_is_weighed() -> None:
    plan = planned("1xRTX5090", version="0.22.1", max_num_seqs=256, max_cudagraph_capture_size=512, execution="graphs")
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert any(row.item == "graph_probe" and (row.expected or 0) > 10 * GIB for row in plan.ledger)


@given(st.sampled_from(["1xRTX3090", "2xRTX3090", "4xRTX3090", "2x16GiB", "1xRTX5090", "2x48GiB"]),
       st.sampled_from(["0.17.1", "0.19.0", "0.22.1", "0.27.0", "0.30.0", "0.33.0"]),
       st.sampled_from([None, 4096, 32768, 262144]), st.sampled_from(["latency", "throughput", "context"]))  # fmt: skip
@settings(deadline=None, max_examples=25)
def test_the_ledger_never_passes_the_card(gpus: str, version: str, length: int | None, goal: str) -> None:
    plan = planned(gpus, version=version, max_model_len=length, goal=goal)
    lasting = sum(row.expected or 0 for row in plan.ledger if not row.transient and row.item != "reserve")
    assert all(row.low is None or row.low <= (row.expected or 0) <= (row.high or 0) for row in plan.ledger)
    if plan.fits:
        assert lasting <= cards(gpus)[0].total_bytes
        inside = sum(
            row.expected or 0 for row in plan.ledger
            if not row.transient and row.item not in (*OUTSIDE_BUDGET, "reserve", "graphs")
        )  # fmt: skip
        assert inside <= plan.budget_bytes


def test_more_ranks_never_raise_the_weights() -> None:
    for name in ("qwen3.5-35b-a3b-awq-4bit", "qwen3.5-27b-fp8", "qwen2.5-vl-7b-instruct-awq", "qwen3-vl-8b-instruct"):
        weights = Weights(read_known(name))
        sizes = [weights.of(Settings(ranks, False, 4096, 64, 2048, True)) for ranks in (1, 2, 4, 8)]
        assert sizes == sorted(sizes, reverse=True), name


@given(st.integers(2048, 262_144), st.integers(1, 100_000))
@settings(deadline=None, max_examples=10)
def test_a_longer_request_never_raises_concurrency(length: int, more: int) -> None:
    short = planned("2xRTX3090", max_model_len=length, max_num_seqs=16).kv
    longer = planned("2xRTX3090", max_model_len=min(262_144, length + more), max_num_seqs=16).kv
    assert short is not None
    assert longer is not None
    assert longer.concurrency <= short.concurrency


def test_ranks_that_would_cut_a_group_are_not_chosen() -> None:
    request, model = PlanRequest(), read_known("qwen3.5-35b-a3b-gptq-int4")
    plan = make_plan(request, model, gpu_engine(), host(), cards("8xH100"))
    assert plan.settings.tensor_parallel_size == 4
    assert planned("8xH100").settings.tensor_parallel_size == 8


def test_unknown_weights_never_fit() -> None:
    model = replace(lead(), tensors=())
    plan = make_plan(PlanRequest(), model, gpu_engine(), host(), cards("2xRTX3090"))
    assert plan.verdict is Verdict.TIGHT
    assert next(row for row in plan.ledger if row.item == "weights").expected is None


@given(st.sampled_from(["1xRTX3090", "2xRTX3090", "2x16GiB", "1xRTX5090"]), st.sampled_from(["0.22.1", "0.33.0"]),
       st.sampled_from([None, 8192]), st.sampled_from([None, 2 * GIB]), st.booleans())  # fmt: skip
@settings(deadline=None, max_examples=12)
def test_plan_to_command_to_plan(
    gpus: str, version: str, length: int | None, cache: int | None, text_only: bool
) -> None:
    first = planned(gpus, version, max_model_len=length, kv_cache_memory_bytes=cache, language_model_only=text_only)
    parsed = parse(first.command)
    assert (parsed.unknown, parsed.gone, parsed.invalid) == ((), (), ())
    second = make_plan(parsed.request, lead(), gpu_engine(version), host(), cards(gpus))
    assert second.settings == first.settings
    assert (second.verdict, second.ledger, second.kv) == (first.verdict, first.ledger, first.kv)
    assert second.command == first.command


@pytest.mark.parametrize(
    ("name", "gpus", "asked"),
    [
        ("qwen3.5-35b-a3b-gptq-int4", "1xRTX3090", {"language_model_only": True}),
        ("qwen3.5-35b-a3b-awq-4bit", "1xRTX3090", {"language_model_only": True}),
        ("qwen3.5-9b", "1xRTX A4500", {}),
        ("qwen3.5-27b-fp8", "1xRTX5090", {}),
    ],
)
def test_a_shorter_length_is_tried_before_giving_up(name: str, gpus: str, asked: dict[str, object]) -> None:
    plan = make_plan(PlanRequest(**asked), read_known(name), gpu_engine(), host(), cards(gpus))  # type: ignore[arg-type]  # names of fields
    assert plan.verdict is Verdict.FITS
    assert 2048 <= plan.settings.max_model_len < 262_144


def test_what_is_short_is_said_of_the_best_try() -> None:
    plan = planned("1xRTX3090")
    assert plan.verdict is Verdict.DOES_NOT_FIT
    assert plan.settings.enforce_eager
    assert any(near.settings == {"language_model_only": True} for near in plan.nearest)


def test_a_fixed_cache_keeps_a_utilization_that_the_free_memory_allows() -> None:
    """vLLM asks for the utilization's share when it looks at the card, before it reads the cache's size."""
    busy = tuple(replace(card, free_bytes=card.total_bytes // 2, assumed=False) for card in cards("1xH200"))
    request = PlanRequest(kv_cache_memory_bytes=8 * GIB)
    plan = make_plan(request, read_known("qwen3.5-27b-fp8"), gpu_engine(), host(), busy)
    assert plan.verdict is Verdict.FITS
    assert 0 < (plan.settings.gpu_memory_utilization or 0) < 0.5
    assert "--gpu-memory-utilization" in plan.command
    given = parse(plan.command).request
    assert make_plan(given, plan.model, gpu_engine(), host(), busy).settings == plan.settings
    kept = replace(request, gpu_memory_utilization=0.9)
    assert not make_plan(kept, plan.model, gpu_engine(), host(), busy).fits


@given(st.sampled_from(["1xRTX3090", "2x16GiB", "1xH200"]), st.floats(0.05, 1), st.sampled_from([None, 2 * GIB]))
@settings(deadline=None, max_examples=15)
def test_what_others_hold_is_not_left_over(gpus: str, share: float, cache: int | None) -> None:
    busy = tuple(replace(card, free_bytes=int(card.total_bytes * share), assumed=False) for card in cards(gpus))
    plan = make_plan(PlanRequest(kv_cache_memory_bytes=cache), read_known("qwen3.5-4b"), gpu_engine(), host(), busy)
    used = sum(row.expected or 0 for row in plan.ledger if not row.transient and row.item != "reserve")
    reserve = next(row for row in plan.ledger if row.item == "reserve")
    assert reserve.expected is not None
    assert reserve.expected <= (busy[0].free_bytes or 0) - used + 1


def test_one_card_that_holds_all_is_better_than_two_that_give_things_up() -> None:
    plan = planned("1x16GiB,1xH200")
    assert plan.verdict is Verdict.FITS
    assert (plan.settings.tensor_parallel_size, plan.settings.kv_cache_dtype) == (1, "auto")
    assert plan.settings.mm_processor_kwargs == {}
    assert plan.env["CUDA_VISIBLE_DEVICES"] == "1"


@pytest.mark.parametrize(("name", "more"), [("qwen3.5-27b-fp8", 0.35), ("qwen3.5-35b-a3b-fp8", 0.49)])
def test_fp8_blocks_take_more_where_marlin_serves_them(name: str, more: float) -> None:
    """Before 8.9 each block's scale is kept for each column: K*N/64 bytes more, 127/128 of that over the checkpoint."""
    model, one = read_known(name), Settings(1, False, 4096, 64, 2048, True)
    weights = Weights(model)
    native, marlin = (weights.of(one, cards(kind)[0]) for kind in ("1xRTX4090", "1xRTX3090"))
    assert native == weights.of(one)
    scales = [t for t in model.tensors if t.name.endswith("weight_scale_inv") and not t.name.startswith("mtp")]
    assert marlin - native == 127 * sum(tensor.size_bytes for tensor in scales)
    assert round((marlin - native) / GIB, 2) == more


def test_a_padded_vocabulary_is_padded_on_its_own_axis() -> None:
    for parameter, shape, size in (
        ("weight", (100, 32), 6400), ("qweight", (4, 100), 1600), ("scales", (2, 100), 400), ("qzeros", (2, 25), 200),
    ):  # fmt: skip
        assert vocab_bytes(100, parameter, shape, size) == size * 128 // 100
    assert not vocab_split("weight_scale_2", ())
    assert not vocab_split("g_idx", (32,))


@pytest.mark.parametrize(
    ("gpus", "version", "basis"), [("1xRTX5090", "0.26.1", "calibrated"), ("2xRTX3090", "0.30.0", "bound")]
)
def test_wide_intervals_are_bounds(gpus: str, version: str, basis: str) -> None:
    plan = planned(gpus, version, max_num_seqs=64, mm_processor_kwargs={"max_pixels": 16_777_216})
    assert {row.basis.value for row in plan.ledger if row.item in ("non_torch", "activation_peak")} == {basis}


def test_of_unequal_free_cards_the_fullest_is_weighed() -> None:
    first, second = cards("2xRTX3090")
    busy = (replace(first, free_bytes=23 * GIB), replace(second, free_bytes=18 * GIB))
    plan = planned(busy, tensor_parallel_size=2, kv_cache_memory_bytes=GIB)
    assert next(row for row in plan.ledger if row.item == "reserve").note.count("5.")


@pytest.mark.parametrize("name", ["qwen3.5-35b-a3b-awq-4bit", "qwen3.6-27b-fp8"])
def test_the_table_of_mistakes_names_the_sequences_that_a_plan_chooses(name: str) -> None:
    plan = make_plan(PlanRequest(), read_known(name), gpu_engine(), host(), cards("2xRTX3090"))
    assert not plan.settings.enforce_eager
    parameters, build = ("35B", "AWQ") if "35b" in name else ("27B", "FP8")
    assert f"{plan.settings.max_num_seqs} for a {parameters} {build}" in tr("mistakes.oom_graph_probe_right", "en")


def test_two_services_are_an_option_where_they_hold_more_than_one_on_all_cards() -> None:
    four, two = planned("4xRTX3090"), planned("2xRTX3090")
    assert four.kv
    assert two.kv
    (option,) = four.options
    assert option.settings == {"tensor_parallel_size": 2, "services": 2}
    assert 2 * two.kv.tokens > four.kv.tokens
    assert all(f"{tokens:,}" in option.why for tokens in (2 * two.kv.tokens, two.kv.tokens, four.kv.tokens))
    assert not two.options, "one card can't hold it"


def test_where_one_holds_more_both_figures_are_said_and_nothing_is_offered() -> None:
    plan = make_plan(PlanRequest(), read_known("qwen3.5-4b"), gpu_engine(), host(), cards("2xRTX3090"))
    (fewer,) = plan.refused
    assert plan.kv
    assert fewer.fits
    assert not plan.options
    assert f"{plan.kv.tokens:,}" in fewer.why


def test_cards_that_differ_and_cards_too_few_are_no_second_service() -> None:
    assert not planned(cards("2xRTX3090+2xRTX4090")).options
    assert any("1 more card left free." in reason for reason in planned("3xRTX3090").reasons)
