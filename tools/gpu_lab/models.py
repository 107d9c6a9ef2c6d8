"""Model folders without weights, for `--load-format dummy`: the lead model whole, and one rank's half of it.

Real kernels, shapes and quantization; the answers mean nothing. The tokenizer is the demo model's with a filler word
for every other id of the vocabulary, so that each token that is drawn is a piece of text.
"""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from fitserve.demo import model_dir
from fitserve.facts.known_models import read_known
from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.model import ModelFacts
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read_config import describe

LEAD = "qwen3.5-35b-a3b-awq-4bit"
GEOMETRIES = ("whole", "half")
_HALVED = ("num_experts", "num_attention_heads", "num_key_value_heads", "linear_num_key_heads",
           "linear_num_value_heads", "shared_expert_intermediate_size", "vocab_size")  # fmt: skip
_TOKENS = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")


def config_of(geometry: str) -> dict[str, Any]:
    """The published config with its quantization; `half` has what one of two ranks holds."""
    config = copy.deepcopy(dict(read_known(LEAD).config))
    if geometry == "half":
        text = config["text_config"]
        text.update({name: text[name] // 2 for name in _HALVED})
    return config


def facts_of(geometry: str) -> ModelFacts:
    """What the planner knows of the geometry: its tensors are laid out from the config."""
    known = read_known(LEAD)
    if geometry == "whole":
        return known
    config = config_of(geometry)
    facts = describe(config, (), read_quantization(config), name=geometry, source=geometry)
    return with_inferred_tensors(replace(facts, vision=known.vision))


def write_model(geometry: str, folder: Path) -> Path:
    """A folder that vLLM starts from with `--load-format dummy`."""
    folder.mkdir(parents=True, exist_ok=True)
    demo = model_dir()
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        shutil.copy(demo / name, folder / name)
    config = config_of(geometry)
    of_demo = _read(demo / "config.json")
    config |= {name: of_demo[name] for name in _TOKENS}
    config["text_config"]["eos_token_id"] = of_demo["text_config"]["eos_token_id"]
    _write(folder / "config.json", config)
    vision = facts_of(geometry).vision
    assert vision is not None
    limits = {"shortest_edge": vision.min_pixels, "longest_edge": vision.max_pixels}
    for name in ("preprocessor_config.json", "video_preprocessor_config.json"):
        _write(folder / name, _read(demo / name) | {"size": limits})
    _write(folder / "tokenizer.json", _filled(_read(demo / "tokenizer.json"), config["text_config"]["vocab_size"]))
    return folder


def _filled(tokenizer: dict[str, Any], size: int) -> dict[str, Any]:
    """Every id up to `size` that has no word gets one."""
    words = tokenizer["model"]["vocab"]
    taken = set(words.values()) | {token["id"] for token in tokenizer["added_tokens"]}
    words.update({f"w{number}": number for number in range(size) if number not in taken})
    return tokenizer


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _write(path: Path, table: dict[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=1), encoding="utf-8")
