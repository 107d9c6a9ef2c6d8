"""Which files are fetched, where they would go, and what a disk says."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.errors import FitserveError, NotFound
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.hub_site import HubFile
from fitserve.fetch.digest import Digest
from fitserve.fetch.files import needed_files
from fitserve.fetch.place import HuggingFacePlace
from fitserve.fetch.room import check_room, disk_failure, free_bytes
from fitserve.units import GIB

REF = HubRef(Hub.HUGGING_FACE, "org/name")
# Top-level names of published checkpoints of the known families.
NEEDED = [
    "config.json", "generation_config.json", "preprocessor_config.json", "video_preprocessor_config.json",
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "added_tokens.json",
    "special_tokens_map.json", "chat_template.jinja", "chat_template.json", "processor_config.json",
    "tokenizer.model", "qwen.tiktoken", "configuration_custom.py", "quantize_config.json", "params.json",
    "tekken.json",
]  # fmt: skip
NOT_NEEDED = [
    "README.md", "LICENSE", "LICENSE.txt", ".gitattributes", "pytorch_model.bin",
    "pytorch_model.bin.index.json", "model.pth", "model-Q4_K_M.gguf", "training_args.bin", "optimizer.pt",
    "rng_state.pth", "consolidated.safetensors", "tf_model.h5", "model.onnx", "requirements.txt", "figure.png",
    "trainer_state.json", "flax_model.msgpack", "recipe.yaml",
]  # fmt: skip


def chosen(names: list[str]) -> list[str]:
    return [file.path for file in needed_files(HubWeb("http://127.0.0.1:9"), REF, files(names))]


def files(names: list[str]) -> dict[str, HubFile]:
    return {name: HubFile(name, 1, "") for name in names}


def test_small_files_first_then_one_set_of_weights() -> None:
    got = chosen([*NEEDED, *NOT_NEEDED, "model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors"])
    assert got[-2:] == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert set(got[:-2]) == set(NEEDED)


def test_mistral_weights_where_there_are_no_others() -> None:
    assert chosen(["config.json", "consolidated.safetensors"])[-1] == "consolidated.safetensors"


def test_what_is_no_model() -> None:
    with pytest.raises(NotFound):
        chosen(["README.md"])
    with pytest.raises(FitserveError, match="no safetensors"):
        chosen(["config.json", "pytorch_model.bin"])


def test_a_name_that_would_speak_to_the_terminal_is_left_out() -> None:
    assert chosen(["config.json", "\x1b]0;x\x07.json", "model.safetensors"]) == ["config.json", "model.safetensors"]


@given(st.text(max_size=80))
def test_no_digest_leads_out_of_the_cache(digest: str) -> None:
    place = HuggingFacePlace(REF, "c" * 40)
    file = HubFile("model.safetensors", 1, digest)
    assert place.part(file).parent == place.root / "blobs" and place.lock(file).parent.parent.name == ".locks"


@given(st.binary(max_size=200), st.integers(0, 200))
def test_a_digest_does_not_depend_on_the_pieces(content: bytes, cut: int) -> None:
    import hashlib

    for promised in (hashlib.sha256(content), hashlib.sha1(b"blob %d\0" % len(content) + content)):
        digest = Digest(HubFile("x", len(content), promised.hexdigest()))
        digest.add(content[:cut])
        digest.add(content[cut:])
        assert digest.agrees and digest.size_bytes == len(content)
        digest.add(b"x")
        assert not digest.agrees


def test_a_disk_that_fills_up_meanwhile(tmp_path: Path) -> None:
    full = disk_failure(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path / "hub")
    assert full.code == "disk_full" and full.hint == f"df -h {tmp_path}" and "No space left" in full.evidence


def test_room(tmp_path: Path) -> None:
    check_room(0, tmp_path, lambda _: 0)  # all is here already
    check_room(GIB, tmp_path / "not" / "yet", lambda _: 2 * GIB)
    assert free_bytes(tmp_path / "not" / "yet") > 0
    with pytest.raises(FitserveError):
        check_room(GIB, tmp_path, lambda _: GIB)
