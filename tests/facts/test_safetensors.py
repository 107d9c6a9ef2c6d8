"""The header parser: what it reads, and that nothing makes it crash."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from checkpoints import BYTES, header_bytes, write_shard
from hypothesis import given
from hypothesis import strategies as st

from fitserve.errors import FitserveError
from fitserve.facts.safetensors import HEADER_LIMIT_BYTES, header_length, parse_header, read_header

NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name != "__metadata__")
SHAPES = st.lists(st.integers(0, 40), max_size=4).map(tuple)
ENTRIES = st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(BYTES)), SHAPES), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(ENTRIES, st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3))
def test_round_trip(entries: dict[str, tuple[str, tuple[int, ...]]], metadata: dict[str, str]) -> None:
    content = header_bytes(entries, metadata)[8:]
    header = parse_header(content, "a")
    assert {tensor.name: (tensor.dtype, tensor.shape) for tensor in header.tensors} == entries
    assert header.data_bytes == sum(math.prod(shape) * BYTES[dtype] for dtype, shape in entries.values())
    assert header.header_bytes == len(content) + 8


@given(st.binary(max_size=200))
def test_random_bytes_only_fail_as_sentences(content: bytes) -> None:
    for attempt in (lambda: parse_header(content, "a"), lambda: header_length(content[:8], "a", len(content))):
        try:
            attempt()
        except FitserveError as error:
            assert error.code == "broken_model" and "a" in error.message


@given(JSON)
def test_random_json_only_fails_as_a_sentence(value: object) -> None:
    try:
        parse_header(json.dumps(value).encode(), "a")
    except FitserveError as error:
        assert error.code == "broken_model"


@given(ENTRIES.filter(bool), st.data())
def test_one_wrong_number_is_found(entries: dict[str, tuple[str, tuple[int, ...]]], data: st.DataObject) -> None:
    table = json.loads(header_bytes(entries)[8:])
    name = data.draw(st.sampled_from(sorted(entries)))
    place = data.draw(st.integers(0, 1))
    table[name]["data_offsets"][place] += data.draw(st.sampled_from([-(2**70), -7, -1, 1, 7, 2**40, 2**70]))
    with pytest.raises(FitserveError):
        parse_header(json.dumps(table).encode(), "a")


def entry(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "table",
    [
        {"t": {}},
        {"t": entry(dtype="")},
        {"t": entry(dtype=3)},
        {"t": entry(shape=[-2])},
        {"t": entry(shape=None)},
        {"t": entry(offsets=[8, 0])},
        {"t": entry(offsets=[-8, 0])},
        {"t": entry(offsets=[0])},
        {"t": entry(offsets=[8, 16])},
        {"t": entry(), "u": entry()},
        {"t": entry(), "u": entry(offsets=[4, 12])},
        {"t": entry(), "u": entry(offsets=[12, 20])},
        {"t": entry(shape=[2**40, 2**40])},
        {"t": 5},
        [],
        None,
    ],
)
def test_contradictions_are_told(table: object) -> None:
    with pytest.raises(FitserveError) as caught:
        parse_header(json.dumps(table).encode(), "model.safetensors")
    assert "model.safetensors" in caught.value.message


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"a":1' * 50_000, b"nul", b'{"a":"\xff"}']
)
def test_broken_json_is_told(content: bytes) -> None:
    with pytest.raises(FitserveError):
        parse_header(content, "a")


def test_metadata_may_use_any_key() -> None:
    for metadata in ({"shape": "x", "dtype": "y"}, {"data_offsets": "no"}, {"a": "b"}):
        table = {"__metadata__": metadata, "t": entry()}
        assert len(parse_header(json.dumps(table).encode(), "a").tensors) == 1


def test_a_type_of_tomorrow_is_taken_at_its_word() -> None:
    header = parse_header(json.dumps({"t": entry(dtype="F2_NEW")}).encode(), "a")
    assert header.tensors[0].size_bytes == 8


def test_four_bit_types() -> None:
    assert parse_header(json.dumps({"t": entry(dtype="F4", shape=[16])}).encode(), "a").data_bytes == 8


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"1234", "not a safetensors file"),
        ((2**60).to_bytes(8, "little"), str(2**60)),
        ((HEADER_LIMIT_BYTES + 1).to_bytes(8, "little"), "not a safetensors file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS"),
        ((100).to_bytes(8, "little") + b"{}", "cut off"),
    ],
)
def test_files_that_are_no_shards(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(FitserveError) as caught:
        read_header(path)
    assert word in caught.value.message and "model.safetensors" in caught.value.message


@pytest.mark.parametrize(("change", "word"), [(-1, "cut off"), (1, "longer"), (-15, "cut off")])
def test_size_is_held_against_the_header(tmp_path: Path, change: int, word: str) -> None:
    path = tmp_path / "m.safetensors"
    write_shard(path, {"t": ("F32", (2, 2))})
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + change)
    with pytest.raises(FitserveError) as caught:
        read_header(path)
    assert word in caught.value.message


def test_missing_and_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.safetensors", tmp_path):
        with pytest.raises(FitserveError):
            read_header(path)


def test_names_are_shown_without_control_characters() -> None:
    with pytest.raises(FitserveError) as caught:
        parse_header(json.dumps({"\x1b]0;gotcha\x07": entry(offsets=[4, 12])}).encode(), "a")
    assert "\x1b" not in caught.value.message and "\x07" not in caught.value.message
