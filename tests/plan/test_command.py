"""Settings to command and back: the same plan, the service closed, the flags vLLM's own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_models import cpu_engine, host, tiny

from fitserve.plan.flags import CLOSED_FLAGS, command
from fitserve.plan.make import make_plan
from fitserve.plan.parse import flag_kinds, parse, parse_text
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Settings

requests = st.builds(
    PlanRequest,
    tensor_parallel_size=st.sampled_from([None, 1, 2]),
    execution=st.sampled_from(["auto", "graphs", "eager"]),
    max_model_len=st.none() | st.integers(64, 32768),
    max_num_seqs=st.none() | st.integers(1, 256),
    max_num_batched_tokens=st.none() | st.integers(256, 8192),
    enable_prefix_caching=st.none() | st.booleans(),
    kv_cache_dtype=st.sampled_from([None, "auto", "bfloat16"]),
    cpu_kv_cache_space_gib=st.none() | st.integers(1, 8),
    limit_mm_per_prompt=st.none() | st.fixed_dictionaries({"image": st.integers(0, 9), "video": st.just(0)}),
    language_model_only=st.booleans(),
    enable_expert_parallel=st.booleans(),
    num_speculative_tokens=st.integers(0, 3),
    served_model_name=st.sampled_from(["", "demo", "a name"]),
    extra=st.sampled_from([(), ("--seed", "3"), ("--allowed-media-domains", "example.org", "--chat-template=x")]),
    port=st.integers(1024, 65535),
)


@given(requests)
@settings(deadline=None)
def test_plan_to_command_to_plan(request: PlanRequest) -> None:
    first = make_plan(request, tiny(), cpu_engine(), host(), None)
    parsed = parse([f"VLLM_CPU_KVCACHE_SPACE={first.env['VLLM_CPU_KVCACHE_SPACE']}", *first.command])
    assert (parsed.unknown, parsed.gone, parsed.invalid) == ((), (), ())
    assert parsed.model == "tiny"
    second = make_plan(parsed.request, tiny(), cpu_engine(), host(), None)
    assert second.settings == first.settings
    assert (second.ledger, second.kv, second.verdict) == (first.ledger, first.kv, first.verdict)
    assert second.command == first.command


def test_the_service_starts_closed() -> None:
    words = command(Settings(1, True, 4096, 8, 2048, True), "m", "127.0.0.1", 8000)
    for closed in CLOSED_FLAGS:
        assert closed[0] in words
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert words[words.index("--allowed-media-domains") + 1].endswith(".invalid")


def test_an_owner_may_open_a_domain() -> None:
    words = command(Settings(1, True, 4096, 8, 2048, True, extra=("--allowed-media-domains", "a.org")), "m", "h", 1)
    assert words.count("--allowed-media-domains") == 1


def test_every_flag_of_ours_is_vllms() -> None:
    kinds = flag_kinds()
    given_settings = Settings(
        2, False, 4096, 8, 2048, True, gpu_memory_utilization=0.9, kv_cache_memory_bytes=1, block_size=16,
        limit_mm_per_prompt={"image": 1}, mm_processor_kwargs={"max_pixels": 1}, mm_encoder_tp_mode="data",
        language_model_only=True, max_cudagraph_capture_size=8, enable_expert_parallel=True, num_speculative_tokens=1,
    )  # fmt: skip
    flags = [word for word in command(given_settings, "m", "h", 1) if word.startswith("--")]
    assert [flag for flag in flags if flag not in kinds] == []


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve Qwen/M --max-model-len 32K -tp 2 --enforce-eager",
        (
            "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/M \\\n  --max-model-len=32768 \\\n"
            "  --tensor-parallel-size=2 --enforce_eager"
        ),
        "python3 -m vllm.entrypoints.openai.api_server --model Qwen/M -tp 2 --max-model-len 32K --enforce-eager",
        "env A=b /opt/venv/bin/vllm serve --enforce-eager -tp 2 Qwen/M --max-model-len 32768",
    ],
)
def test_commands_as_people_write_them(text: str) -> None:
    parsed = parse_text(text)
    assert parsed.model == "Qwen/M"
    assert parsed.request.max_model_len == 32768
    assert parsed.request.tensor_parallel_size == 2
    assert parsed.request.execution == "eager"
    assert parsed.unknown == ()


def test_gone_unknown_and_invalid_flags_are_told_apart() -> None:
    parsed = parse_text("vllm serve M --swap-space 4 --max-model-lenght 4096 --max-num-seqs many")
    assert parsed.gone == ("--swap-space",)
    assert parsed.unknown == ("--max-model-lenght",)
    assert len(parsed.invalid) == 1
    assert parsed.invalid[0].startswith("--max-num-seqs")


def test_lists_end_at_the_next_flag() -> None:
    parsed = parse_text("vllm serve M --served-model-name a b --max-num-seqs 4")
    assert (parsed.request.served_model_name, parsed.request.max_num_seqs) == ("a", 4)


@given(st.lists(st.text(max_size=12), max_size=12))
def test_no_words_break_the_parser(words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize(
    ("config", "drafts", "kept"),
    [
        ('{"method": "mtp", "num_speculative_tokens": 2}', 2, False),
        ('{"method": "qwen3_next_mtp", "num_speculative_tokens": 2}', 2, False),
        ('{"method": "mtp", "num_speculative_tokens": 2, "disable_by_batch_size": 8}', 2, True),
        ('{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}', 0, True),
        ('{"method": "eagle3", "model": "a/b", "num_speculative_tokens": 3}', 0, True),
    ],
)
def test_only_mtp_drafts_are_ours(config: str, drafts: int, kept: bool) -> None:
    request = parse(["vllm", "serve", "M", "--speculative-config", config]).request
    assert request.num_speculative_tokens == drafts
    plan = make_plan(request, tiny(), cpu_engine(), host(), None)
    assert plan.command.count("--speculative-config") == 1
    assert (config in plan.settings.extra) is kept
    names = [check.name for check in plan.checks]
    assert ("draft_layers" in names) is bool(drafts), "this model has no MTP layer"
    assert ("flags_weighed" in names) is not bool(drafts)
