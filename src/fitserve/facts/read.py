"""Model facts from wherever the model is: a folder, a known name, a hub id."""

from __future__ import annotations

from pathlib import Path

from fitserve.errors import FitserveError, NotFound, OperationFailed
from fitserve.facts.config import read_json
from fitserve.facts.folder import read_weights
from fitserve.facts.known_models import find_known, near_known, read_known
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization
from fitserve.facts.quantization import SIDE_FILES, read_quantization
from fitserve.facts.read_config import describe, with_judgement
from fitserve.text import tr


def read_model(source: str | Path) -> ModelFacts:
    """The facts of a model that is whole.

    `source` is a folder or the name of a known model. Raises NotFound where there is no model, OperationFailed
    (broken_model) where it is damaged or contradicts itself. What vLLM can't serve is not a failure here: see
    `ModelFacts.serving_problem`.
    """
    facts = survey_model(source)
    if facts.problems:
        more = tr("facts.and_more", count=len(facts.problems) - 1) if len(facts.problems) > 1 else ""
        message = tr("facts.damaged", name=facts.name, more=more)
        hint = f"fitserve inspect {source}"
        raise OperationFailed(message, code="broken_model", evidence=facts.problems[0], hint=hint)
    return facts


def survey_model(source: str | Path) -> ModelFacts:
    """The facts as far as they can be read; what is damaged is in `problems`. Raises as read_model for the rest."""
    path = Path(source).expanduser()
    if path.is_dir():
        return _read_folder(path)
    known = None if path.exists() else find_known(str(source))
    if known is not None:
        return read_known(known)
    raise _no_model(str(source), path)


def _read_folder(folder: Path) -> ModelFacts:
    name = folder.resolve().name
    if not (folder / "config.json").is_file():
        return _without_config(folder, name)
    config = read_json(folder / "config.json")
    weights = read_weights(folder)
    quantization = read_quantization(config, _side_file(folder))
    facts = describe(config, weights.tensors, quantization, name=name, source=str(folder), folder=folder)
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
    shown = ", ".join(files[:3]) + (" …" if len(files) > 3 else "")
    raise NotFound(tr("facts.not_a_model", folder=folder), evidence=shown, hint=hint)


def _no_model(source: str, path: Path) -> FitserveError:
    if path.exists():
        return NotFound(tr("facts.not_a_folder", path=path), hint=f"fitserve inspect {path.parent}")
    near = near_known(source)
    also = tr("facts.did_you_mean", names=", ".join(near)) if near else ""
    hint = f"fitserve inspect {near[0] if near else 'demo'}"
    return NotFound(tr("facts.no_model", source=source, also=also), hint=hint)
