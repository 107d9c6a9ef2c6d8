"""Model folders: what is read, and what is said of damaged ones."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from checkpoints import TINY, entries_of, write_folder, write_shard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitserve.errors import FitserveError
from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.model import LayerKind, LinearAttention
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read import read_model, survey_model
from fitserve.facts.read_config import describe

ONE = {"lm_head.weight": ("BF16", (320, 64)), "model.norm.weight": ("BF16", (64,))}


def tiny_shards() -> dict[str, Any]:
    """The tiny model's tensors in two shards."""
    model = with_inferred_tensors(describe(TINY, (), read_quantization(TINY), name="x", source="x"))
    items = list(entries_of(model.tensors).items())
    return {"model-00001-of-00002.safetensors": dict(items[:40]), "model-00002-of-00002.safetensors": dict(items[40:])}


def with_text(**values: object) -> dict[str, Any]:
    config = copy.deepcopy(TINY)
    config["text_config"].update(values)  # type: ignore[attr-defined]
    return config


def test_a_hybrid_model(tmp_path: Path) -> None:
    facts = read_model(write_folder(tmp_path / "tiny", TINY, tiny_shards()))
    assert facts.name == "tiny" and facts.architecture == "Qwen3_5ForConditionalGeneration"
    assert [kind is LayerKind.FULL_ATTENTION for kind in facts.layers] == [False, False, False, True]
    assert facts.linear_attention == LinearAttention(2, 4, 16, 16, 4, "float32")
    assert facts.attention is not None and facts.attention.output_gate and facts.rotary_dim == 8
    assert facts.mtp_layers == 1 and facts.tied_embeddings is False and facts.serving_problem == ""
    assert facts.vision is not None and facts.vision.limits_assumed and facts.vision.positions == 64
    assert {tensor.shard for tensor in facts.tensors} == set(tiny_shards())


@pytest.mark.parametrize(
    ("name", "content", "limits"),
    [
        ("preprocessor_config.json", {"min_pixels": 3136, "max_pixels": 12845056}, (3136, 12845056)),
        ("preprocessor_config.json", {"size": {"shortest_edge": 65536, "longest_edge": 16777216}}, (65536, 16777216)),
        ("preprocessor_config.json", {"size": {"longest_edge": 9}, "min_pixels": 1, "max_pixels": 7}, (1, 7)),
        ("processor_config.json", {"image_processor": {"size": {"shortest_edge": 1, "longest_edge": 2}}}, (1, 2)),
        ("preprocessor_config.json", {"size": 224}, (65536, 16777216)),
    ],
)
def test_picture_limits(tmp_path: Path, name: str, content: object, limits: tuple[int, int]) -> None:
    folder = write_folder(tmp_path, TINY, {"model.safetensors": ONE})
    (folder / name).write_text(json.dumps(content))
    vision = read_model(folder).vision
    assert vision is not None and (vision.min_pixels, vision.max_pixels) == limits
    assert vision.limits_assumed is (content == {"size": 224})


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda folder, shard: (folder / shard).unlink(), "missing"),
        (lambda folder, shard: (folder / shard).write_bytes(b""), "empty"),
        (lambda folder, shard: (folder / shard).write_bytes((folder / shard).read_bytes()[:-1]), "cut off"),
        (lambda folder, shard: (folder / shard).write_bytes((2**60).to_bytes(8, "little") + b"{}"), str(2**60)),
        (lambda folder, shard: write_shard(folder / shard, ONE), "index"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Any, word: str) -> None:
    folder = write_folder(tmp_path, TINY, tiny_shards())
    damage(folder, "model-00002-of-00002.safetensors")
    facts = survey_model(folder)
    assert word in facts.problems[0] and "model-0000" in facts.problems[0]
    with pytest.raises(FitserveError) as caught:
        read_model(folder)
    assert caught.value.code == "broken_model" and caught.value.evidence == facts.problems[0]


@pytest.mark.parametrize(
    "index",
    [b"", b"[]", b'{"weight_map": {"a": "../../etc/passwd"}}', b'{"weight_map": 3}', b"[" * 100_000, b"\xff"],
)
def test_a_bad_index_is_named(tmp_path: Path, index: bytes) -> None:
    folder = write_folder(tmp_path, TINY, tiny_shards())
    (folder / "model.safetensors.index.json").write_bytes(index)
    assert "model.safetensors.index.json" in survey_model(folder).problems[0]


def test_the_same_tensor_twice_without_an_index(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, TINY, {"a.safetensors": ONE, "b.safetensors": ONE}, index=False)
    assert "a.safetensors" in survey_model(folder).problems[0]


def test_mistrals_second_copy_is_not_the_model(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, TINY, {"model.safetensors": ONE, "consolidated.safetensors": ONE}, index=False)
    assert {tensor.shard for tensor in read_model(folder).tensors} == {"model.safetensors"}


@pytest.mark.parametrize(
    ("files", "code", "exit_code"),
    [
        ({}, "not_found", 3),
        ({"shopping.txt": b"milk", "todo.md": b"- sleep"}, "not_found", 3),
        ({"model.safetensors": b"12345678"}, "broken_model", 3),
        ({"config.json": b""}, "broken_model", 1),
        ({"config.json": b"[1, 2]"}, "broken_model", 1),
        ({"config.json": b"\xff\xfe"}, "broken_model", 1),
        ({"config.json": b'{"a": ' * 100_000}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(num_attention_heads=-16)).encode()}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(num_hidden_layers=10**12)).encode()}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(num_key_value_heads=3)).encode()}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(layer_types=["full_attention"])).encode()}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(vocab_size="many")).encode()}, "broken_model", 1),
        ({"config.json": json.dumps(with_text(hidden_size=True)).encode()}, "broken_model", 1),
        ({"config.json": b'{"architectures": "Qwen"}'}, "broken_model", 1),
    ],
)
def test_what_is_no_model(tmp_path: Path, files: dict[str, bytes], code: str, exit_code: int) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FitserveError) as caught:
        read_model(tmp_path)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert caught.value.message.endswith(".")


def test_a_negative_head_count_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(with_text(num_attention_heads=-16)))
    with pytest.raises(FitserveError, match=r"config\.json text_config says num_attention_heads = -16"):
        read_model(tmp_path)


def test_a_file_and_a_name_that_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    for source in (tmp_path / "x.gguf", str(tmp_path / "nowhere"), "qwen3.5-35b-a3b-awq-4bti"):
        with pytest.raises(FitserveError) as caught:
            read_model(source)
        assert caught.value.exit_code == 3
    assert caught.value.hint == "fitserve inspect qwen3.5-35b-a3b-awq-4bit"


@pytest.mark.parametrize("source", ["", "   ", "x" * 5000, "x\0y", "/", "~nobody/model", ".."])
def test_odd_sources_get_a_sentence(source: str) -> None:
    with pytest.raises(FitserveError) as caught:
        read_model(source)
    assert caught.value.exit_code == 3


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, TINY, {})
    os.mkfifo(folder / "model.safetensors")
    assert "regular file" in survey_model(folder).problems[0]


def test_names_that_no_terminal_can_show(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / os.fsdecode(b"m\xff\x1b[31m"), TINY, {"model.safetensors": ONE})
    assert read_model(folder).name.isprintable()


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.floats(), st.text(max_size=5),
    st.lists(st.integers(-3, 3) | st.text(max_size=3), max_size=3), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip
UNSAID = ["layer_types", "num_experts", "rope_parameters", "sliding_window", "dtype"]
KEYS = [*sorted(TINY["text_config"]), *UNSAID]  # type: ignore[call-overload]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    st.dictionaries(st.sampled_from(sorted(TINY)), VALUES, max_size=1),
)
def test_any_config_gives_facts_or_a_sentence(text: dict[str, object], top: dict[str, object]) -> None:
    config = with_text(**text) | top
    try:
        facts = describe(config, (), read_quantization(config), name="x", source="x")
        with_inferred_tensors(facts)
    except FitserveError as error:
        assert error.code == "broken_model" and error.message
