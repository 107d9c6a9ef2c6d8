"""Model facts from wherever the model is: a folder, a known name, a hub id."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fitserve.errors import FitserveError, NotFound, OperationFailed
from fitserve.facts.config import Table, read_json
from fitserve.facts.families import FAMILIES
from fitserve.facts.folder import read_weights
from fitserve.facts.language import attention, experts, layer_kinds, linear_attention, rotary_dim, sliding_window
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization, Tensor
from fitserve.facts.quantization import SIDE_FILES, read_quantization
from fitserve.facts.serving import serving_problem
from fitserve.facts.vision import vision
from fitserve.text import tr


def read_model(source: str | Path) -> ModelFacts:
    """The facts of a model that is whole.

    `source` is a folder. Raises NotFound where there is no model, OperationFailed (broken_model) where it is damaged
    or contradicts itself. What vLLM can't serve is not a failure here: see `ModelFacts.serving_problem`.
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
    raise _no_model(source, path)


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


def _no_model(source: str | Path, path: Path) -> FitserveError:
    if path.exists():
        return NotFound(tr("facts.not_a_folder", path=path), hint=f"fitserve inspect {path.parent}")
    return NotFound(tr("facts.no_model", source=source), hint="fitserve inspect demo")


def describe(
    config: dict[str, object],
    tensors: tuple[Tensor, ...],
    quantization: Quantization,
    *,
    name: str,
    source: str,
    folder: Path | None = None,
) -> ModelFacts:
    """The facts that a config and its tensors state. Raises OperationFailed (broken_model) for impossible values."""
    top = Table(config, "config.json")
    text = _language_table(config)
    architecture = next(iter(top.names("architectures")), "")
    family = FAMILIES.get(architecture)
    layers = layer_kinds(text, family)
    heads = attention(text, family)
    dtype = text.text("dtype", "torch_dtype") or top.text("dtype", "torch_dtype")
    return ModelFacts(
        name=name,
        source=source,
        architecture=architecture,
        model_type=top.text("model_type"),
        dtype=dtype,
        hidden=text.count("hidden_size", "n_embd"),
        intermediate=text.count("intermediate_size", "n_inner"),
        layers=layers,
        attention=heads,
        linear_attention=linear_attention(text, dtype or "bfloat16"),
        experts=experts(text, len(layers)),
        vision=vision(config, folder, family),
        vocab=text.count("vocab_size"),
        tied_embeddings=_tied(text, top, tensors, known=family is not None),
        max_positions=text.count("max_position_embeddings", "n_positions", "seq_length"),
        rotary_dim=rotary_dim(text, family, heads),
        mtp_layers=_mtp_layers(text, tensors),
        quantization=quantization,
        tensors=tensors,
        config=config,
        sliding_window=sliding_window(text, family),
    )


def with_judgement(facts: ModelFacts, files: Iterable[str], problems: tuple[str, ...]) -> ModelFacts:
    """The facts with what is damaged, and with the reason why vLLM can't serve them, if one is known."""
    from dataclasses import replace

    return replace(facts, problems=problems, serving_problem=serving_problem(facts, tuple(files)))


def _language_table(config: dict[str, object]) -> Table:
    for key in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(key), dict):
            return Table(config[key], f"config.json {key}")  # type: ignore[arg-type]  # JSON objects have string keys
    return Table(config, "config.json")


def _tied(text: Table, top: Table, tensors: tuple[Tensor, ...], *, known: bool) -> bool | None:
    """Whether the output layer is the embedding. The config's word, then the tensors', then the family's default."""
    stated = text.flag("tie_word_embeddings")
    if stated is None:
        stated = top.flag("tie_word_embeddings")
    if stated is None and tensors:
        return not any(tensor.name.endswith(("lm_head.weight", "output.weight")) for tensor in tensors)
    return False if stated is None and known else stated


def _mtp_layers(text: Table, tensors: tuple[Tensor, ...]) -> int:
    """Layers for multi-token prediction: as stated, or as found among the tensors (Qwen3-Next's config is silent)."""
    stated = text.count("mtp_num_hidden_layers", "num_nextn_predict_layers", least=0, most=1000)
    if stated is not None:
        return stated
    found = {tensor.name.split(".")[2] for tensor in tensors if tensor.name.startswith("mtp.layers.")}
    return len(found)
