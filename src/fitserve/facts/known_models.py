"""Facts of models that people ask for, shipped with the package: `known/*.json`, with where they are from.

An entry has its own `config` or the name of another (`base`) whose config it shares, and its `quantization` where it
has one. Lists of module names are kept as patterns: {layers}, {linear}, {full} and {blocks} stand for every language
layer, those of a kind, and the vision blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from fitserve.facts.layout import with_inferred_tensors
from fitserve.facts.model import LayerKind, ModelFacts
from fitserve.facts.quantization import read_quantization
from fitserve.facts.read_config import describe, with_judgement
from fitserve.text import current_language, tr

_FOLDER = Path(__file__).parent / "known"
_SOURCE = {"en": "source", "zh": "source_zh"}  # where an entry's facts are from, in words
_HOLE = re.compile(r"\{(layers|linear|full|blocks)\}")


def find_known(name: str) -> str | None:
    """The known model's own name for a name, an alias or a hub id, whatever the case."""
    return _names().get(_plain(name))


def known_names() -> tuple[str, ...]:
    """Every known model, in order of name."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def near_known(name: str) -> list[str]:
    """Names like a mistyped one, for "did you mean"."""
    import difflib

    close = difflib.get_close_matches(_plain(name).rpartition("/")[2], _names(), n=4, cutoff=0.7)
    return list(dict.fromkeys(_names()[key] for key in close))


def read_known(name: str) -> ModelFacts:
    """The facts of a known model (a name from `find_known`), its tensors laid out from its config."""
    entry = _entry(name)
    config = _config(entry)
    facts = describe(config, (), read_quantization(config), name=name, source="known")
    config = _filled(config, facts)
    facts = describe(config, (), read_quantization(config), name=name, source="known")
    facts = with_inferred_tensors(_limited(facts, entry))
    notes = (
        tr("facts.note_known", hub=entry["hub"], source=entry[_SOURCE[current_language()]]),
        tr("facts.note_inferred"),
    )
    return with_judgement(replace(facts, notes=notes), ("model.safetensors",), ())


def hub_of(name: str) -> str | None:
    """The hub id that a known model's weights are downloaded from; None for a name that is not known."""
    known = find_known(name)
    return str(_entry(known)["hub"]) if known else None


def builds_of(name: str) -> tuple[str, ...]:
    """The other known builds of the same model: 16-bit and quantized ones."""
    known = find_known(name)
    if known is None:
        return ()
    model = _model_of(known)
    return tuple(other for other in known_names() if other != known and _model_of(other) == model)


def _model_of(name: str) -> object:
    """What a build is a build of: a quantized one of its base."""
    entry = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return entry["base"] if "quantization" in entry else name


def _entry(name: str) -> dict[str, object]:
    """An entry with what its base gives it: the config and the picture limits."""
    entry: dict[str, object] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    base = entry.get("base")
    if not isinstance(base, str):
        return entry
    return {**_entry(base), "quantization": None, "aliases": [], **entry}


def _config(entry: dict[str, object]) -> dict[str, object]:
    config, quantization = entry["config"], entry.get("quantization")
    assert isinstance(config, dict)
    return {**config, "quantization_config": quantization} if quantization else config


def _filled(config: dict[str, object], facts: ModelFacts) -> dict[str, object]:
    """The config with its patterns written out."""
    numbers = {
        "layers": range(len(facts.layers)),
        "linear": [index for index, kind in enumerate(facts.layers) if kind is LayerKind.LINEAR_ATTENTION],
        "full": [index for index, kind in enumerate(facts.layers) if kind is LayerKind.FULL_ATTENTION],
        "blocks": range(facts.vision.depth if facts.vision else 0),
    }
    raw = facts.quantization.raw
    return {**config, "quantization_config": _written_out(raw, numbers)} if raw else config


def _written_out(value: object, numbers: Mapping[str, Iterable[int]]) -> object:
    """The same value with each pattern in a list replaced by the names that it stands for."""
    if isinstance(value, dict):
        return {key: _written_out(inner, numbers) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    written: list[object] = []
    for entry in value:
        hole = _HOLE.search(entry) if isinstance(entry, str) else None
        if hole and isinstance(entry, str):
            written += [entry.replace(hole[0], str(number)) for number in numbers[hole[1]]]
        else:
            written.append(entry)
    return written


def _limited(facts: ModelFacts, entry: dict[str, object]) -> ModelFacts:
    limits, video = entry.get("image_limits"), entry.get("video_limit")
    if facts.vision is None or not isinstance(limits, list):
        return facts
    clip = video if isinstance(video, int) else None
    vision = replace(
        facts.vision, min_pixels=limits[0], max_pixels=limits[1], max_video_pixels=clip, limits_assumed=False
    )
    return replace(facts, vision=vision)


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = {}
    for name in known_names():
        entry = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        for spelling in (name, entry["hub"], entry["hub"].rpartition("/")[2], *entry.get("aliases", ())):
            names[_plain(spelling)] = name
    return names


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")
