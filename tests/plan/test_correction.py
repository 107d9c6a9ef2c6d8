"""Somebody's command put right: wishes kept, harm out, each change said, and nothing left to put right in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plan_models import gpu_engine, host

from fitserve.cli.failure import told
from fitserve.cli.plan import command
from fitserve.facts.gpu_request import parse_gpus
from fitserve.facts.known_models import read_known
from fitserve.plan.parse import ParsedCommand, parse, parse_text
from fitserve.plan.plan import Correction, Plan, Verdict
from fitserve.plan.review import review
from fitserve.text import choose_language

LEAD = "qwen3.5-35b-a3b-awq-4bit"
ARTICLES = (
    "vllm serve /models/q -tp 2 --quantization awq --dtype half --enforce-eager --gpu-memory-utilization 0.95 "
    "--max-model-len 4096 --trust-remote-code --served-model-name qwen vision --port 9000 --seed 3"
)
FLAGS = (
    "--quantization awq", "--dtype half", "--enforce-eager", "--gpu-memory-utilization 0.97", "--swap-space 4",
    "--max-num-seqs 1024", "--trust-remote-code", "--max-model-len 32K", "-tp 2", "-tp 3",
    "--max-num-batched-token 2048", "--host 0.0.0.0", "--kv-cache-dtype bogus", "--seed 3", "--disable-log-requests",
    "--max-model-len 999999",
)  # fmt: skip


def review_of(parsed: ParsedCommand, gpus: str = "2xRTX3090", model: str = LEAD) -> Plan:
    cards = parse_gpus(gpus)
    assert isinstance(cards, tuple)
    return review(parsed, read_known(model), gpu_engine(), host(), cards)


def corrected(text: str, gpus: str = "2xRTX3090", model: str = LEAD) -> Correction:
    found = review_of(parse_text(text), gpus, model).corrected
    assert found is not None
    return found


def test_wishes_stay_and_what_harms_goes() -> None:
    found = corrected(ARTICLES)
    line = " ".join(found.command)
    assert line.startswith("vllm serve /models/q --served-model-name qwen vision --host 127.0.0.1 --port 9000 ")
    for kept in ("--max-model-len 4096", "--tensor-parallel-size 2", "--seed 3", "--no-enforce-eager"):
        assert f" {kept}" in line
    for harm in ("--quantization", "--dtype", "--trust-remote-code", "--gpu-memory-utilization 0.95"):
        assert f" {harm}" not in line
    assert found.plan.verdict is Verdict.FITS


def test_every_change_is_said_in_flags_with_its_why() -> None:
    changes = {change.before: change for change in corrected(ARTICLES).changes if change.before}
    assert set(changes) == {
        "--quantization awq", "--dtype half", "--enforce-eager", "--gpu-memory-utilization 0.95", "--trust-remote-code",
    }  # fmt: skip
    assert changes["--enforce-eager"].after == "--no-enforce-eager"
    assert "0.95 of the card" in changes["--gpu-memory-utilization 0.95"].why
    assert all(change.why for change in changes.values())


@settings(max_examples=3)  # a second each; sixty random mixes were tried by hand
@example(["--enforce-eager", "--max-num-seqs 1024", "--gpu-memory-utilization 0.97"])  # graphs fit with fewer alone
@given(st.lists(st.sampled_from(FLAGS), unique_by=lambda flag: flag.split(" ")[0], max_size=8))
def test_a_corrected_command_starts_and_needs_no_more_than_a_word_on_what_was_wished(flags: list[str]) -> None:
    found = corrected("vllm serve /models/q " + " ".join(flags))
    again = review_of(parse(found.command))
    assert again.verdict is Verdict.FITS
    assert not [check for check in again.checks if check.state.value == "fail"]
    assert again.corrected is None
    assert found.plan.settings.max_model_len == (32768 if "--max-model-len 32K" in flags else 262144)


def test_a_mistyped_flag_is_spelled_right_and_its_value_kept() -> None:
    found = corrected("vllm serve M -tp 2 --max-model-lenght=8192")
    assert found.plan.settings.max_model_len == 8192
    assert ("--max-model-lenght=8192", "--max-model-len 8192") in [(one.before, one.after) for one in found.changes]


def test_a_gone_switch_takes_no_model_with_it() -> None:
    assert corrected("vllm serve --disable-log-requests Q/M -tp 2").command[:3] == ("vllm", "serve", "Q/M")


def test_a_container_keeps_its_form_and_stays_reachable() -> None:
    found = corrected(
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.22.1 --model Q/M -tp 2 --max-model-len 8K"
    )
    line = " ".join(found.command)
    assert line.startswith("docker run -e ")
    assert "vllm/vllm-openai:v0.22.1 --model Q/M " in line
    assert "--host 0.0.0.0" in line
    assert found.env == {}, "a variable in front of docker would not reach the engine"


def test_a_mask_that_hides_every_card_goes_and_the_rest_of_the_environment_stays() -> None:
    found = corrected("CUDA_VISIBLE_DEVICES=7 HF_ENDPOINT=https://hf-mirror.com uv run vllm serve Q/M -tp 2")
    assert found.command[:4] == ("uv", "run", "vllm", "serve")
    assert found.env["HF_ENDPOINT"] == "https://hf-mirror.com"
    assert "CUDA_VISIBLE_DEVICES" not in found.env
    assert "CUDA_VISIBLE_DEVICES=7" in [change.before for change in found.changes]


def test_ranks_are_chosen_where_those_that_were_asked_do_not_divide() -> None:
    found = corrected("vllm serve M -tp 3 --max-model-len 8K", "3xRTX3090")
    assert found.plan.settings.tensor_parallel_size == 2


def test_stages_are_not_weighed_and_so_not_corrected() -> None:
    assert review_of(parse_text("vllm serve M -pp 2 --enforce-eager")).corrected is None


def test_a_command_without_fault_is_left_alone() -> None:
    fine = "vllm serve M -tp 2 --host 127.0.0.1 --allowed-media-domains x.org --max-model-len 8K"
    assert review_of(parse_text(fine)).corrected is None


def test_where_nothing_starts_no_command_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    choose_language("en")
    assert told(command, [LEAD, "--gpus", "1xRTX3090", "--from", "vllm serve /models/q --max-model-len 8K"]) == 4
    out = capsys.readouterr().out
    assert "serve /models/q" not in out
    assert "→ 2 such cards" in out
    assert "The memory does not fit" in out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_corrected_command_is_the_last_line(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    choose_language(language)
    asked = [LEAD, "--gpus", "2xRTX3090", "--from", ARTICLES]
    assert told(command, [*asked, "--json"]) == 5
    found = json.loads(capsys.readouterr().out)["corrected"]
    assert told(command, asked) == 5
    out = capsys.readouterr().out
    assert out.count("--served-model-name") == 1, "one command to copy"
    assert out.splitlines()[-1].endswith("--seed 3")
    assert all(change["why"] in out.replace("\n", "") or change["why"][:20] in out for change in found["changes"])
    assert found["verdict"] == "fits"
