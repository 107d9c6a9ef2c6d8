"""Model facts from wherever the model is: a folder, a known name, a hub id."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.errors import FitserveError, NotFound, OperationFailed
from fitserve.facts.config import broken, printable, read_json
from fitserve.facts.folder import read_weights
from fitserve.facts.hub_cache import find_snapshot
from fitserve.facts.hub_ref import HubRef, is_on, parse_ref
from fitserve.facts.known_models import find_known, near_known, read_known
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization
from fitserve.facts.quantization import SIDE_FILES, read_quantization
from fitserve.facts.read_config import describe, with_judgement
from fitserve.facts.vision import PROCESSOR_FILES
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.facts.headers_range import Progress


def read_model(source: str | Path, progress: Progress | None = None) -> ModelFacts:
    """The facts of a model that is whole.

    `source` is a folder, the name of a known model, or an id on Hugging Face or ModelScope; `progress` is told how
    many bytes of a hub model's headers have come. Raises NotFound where there is no model, OperationFailed
    (broken_model) where it is damaged or contradicts itself, and what `read_hub` raises. What vLLM can't serve is not
    a failure here: see `ModelFacts.serving_problem`.
    """
    facts = survey_model(source, progress)
    if facts.problems:
        more = tr("facts.and_more", count=len(facts.problems) - 1) if len(facts.problems) > 1 else ""
        message = tr("facts.damaged", name=facts.name, more=more)
        hint = f"fitserve inspect {source}"
        raise OperationFailed(message, code="broken_model", evidence=facts.problems[0], hint=hint)
    return facts


def survey_model(source: str | Path, progress: Progress | None = None) -> ModelFacts:
    """The facts as far as they can be read; what is damaged is in `problems`. Raises as read_model for the rest."""
    path = Path(source).expanduser()
    text = str(source).strip()
    there = bool(text) and os.path.exists(path)  # noqa: PTH110 - Path.exists fails on a name that is too long
    if there and path.is_dir():
        return _read_folder(path)
    if not there and isinstance(source, str):
        ref, known = parse_ref(text), find_known(text)
        if ref is not None:
            return _from_hub(ref, progress)
        if known is not None:
            return read_known(known)
    raise _no_model(text, path if there else None)


def _from_hub(ref: HubRef, progress: Progress | None) -> ModelFacts:
    """A complete local copy, else the hub; where that can't be had, the known model of this id."""
    snapshot = find_snapshot(ref)
    if snapshot is not None:
        facts = _read_folder(snapshot)
        return replace(facts, name=ref.id, notes=(*facts.notes, tr("hub.from_cache", folder=snapshot)))
    known = find_known(ref.id)
    if is_on("HF_HUB_OFFLINE") or is_on("TRANSFORMERS_OFFLINE"):
        if known is None:
            hint = f"HF_HUB_OFFLINE=0 fitserve inspect {ref}"
            raise NotFound(tr("hub.offline", ref=ref), code="hub_offline", hint=hint)
        return read_known(known)
    from fitserve.facts.hub import read_hub

    try:
        return read_hub(ref, progress)
    except FitserveError as error:
        if known is None or error.code not in ("hub_unreachable", "timed_out", "hub_slow"):
            raise
        facts = read_known(known)
        return replace(facts, notes=(*facts.notes, tr("hub.fell_back", why=error.message)))


def _read_folder(folder: Path) -> ModelFacts:
    try:
        return _folder_facts(folder)
    except OSError as error:
        raise broken("facts.unreadable", str(folder), reason=error.strerror or str(error)) from error


def _folder_facts(folder: Path) -> ModelFacts:
    name = printable(folder.resolve().name)
    if not (folder / "config.json").is_file():
        return _without_config(folder, name)
    config = read_json(folder / "config.json")
    weights = read_weights(folder)
    quantization = read_quantization(config, _side_file(folder))
    extras = {file: read_json(folder / file) for file in PROCESSOR_FILES if (folder / file).is_file()}
    facts = describe(config, weights.tensors, quantization, name=name, source=str(folder), extras=extras)
    files = tuple(path.name for path in folder.iterdir())
    return with_judgement(facts, files, weights.problems)


def _side_file(folder: Path) -> dict[str, object] | None:
    path = next((folder / name for name in SIDE_FILES if (folder / name).is_file()), None)
    return read_json(path) if path else None


def _without_config(folder: Path, name: str) -> ModelFacts:
    files = sorted(path.name for path in folder.iterdir())
    if any(file.endswith(".gguf") for file in files):
        facts = describe({}, (), Quantization(QuantFormat.GGUF), name=name, source=str(folder))
        return with_judgement(facts, files, ())
    hint = "fitserve inspect MODEL"
    if not files:
        raise NotFound(tr("facts.empty_folder", folder=folder), hint=hint)
    if any(file.endswith(".safetensors") for file in files):
        raise NotFound(tr("facts.no_config", folder=folder), code="broken_model", hint=hint)
    shown = printable(", ".join(files[:3])) + (" …" if len(files) > 3 else "")
    raise NotFound(tr("facts.not_a_model", folder=folder), evidence=shown, hint=hint)


def _no_model(source: str, path: Path | None) -> FitserveError:
    """`path` is what is there in place of a folder."""
    if path is not None:
        return NotFound(tr("facts.not_a_folder", path=printable(str(path))), hint=f"fitserve inspect {path.parent}")
    near = near_known(source)
    also = tr("facts.did_you_mean", names=", ".join(near)) if near else ""
    hint = f"fitserve inspect {near[0]}" if near else "fitserve inspect"
    return NotFound(tr("facts.no_model", source=printable(source), also=also), hint=hint)
