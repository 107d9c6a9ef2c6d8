"""Model facts from a config and its tensors, wherever they came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType

from fitserve.facts.config import Table
from fitserve.facts.families import FAMILIES
from fitserve.facts.language import attention, experts, layer_kinds, linear_attention, rotary_dim, sliding_window
from fitserve.facts.model import ModelFacts, Quantization
from fitserve.facts.serving import serving_problem
from fitserve.facts.tensors import Tensor, folds_of
from fitserve.facts.vision import Extras, vision


def describe(
    config: dict[str, object],
    tensors: Sequence[Tensor],
    quantization: Quantization,
    *,
    name: str,
    source: str,
    extras: Extras = MappingProxyType({}),
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
        vision=vision(config, extras, family),
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
    return replace(facts, problems=problems, serving_problem=serving_problem(facts, tuple(files)))


def _language_table(config: dict[str, object]) -> Table:
    for key in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(key), dict):
            return Table(config[key], f"config.json {key}")  # type: ignore[arg-type]  # JSON objects have string keys
    return Table(config, "config.json")


def _tied(text: Table, top: Table, tensors: Sequence[Tensor], *, known: bool) -> bool | None:
    """Whether the output layer is the embedding. The config's word, then the tensors', then the family's default."""
    stated = text.flag("tie_word_embeddings")
    if stated is None:
        stated = top.flag("tie_word_embeddings")
    if stated is None and tensors:
        heads = ("lm_head.weight", "output.weight")
        return not any(fold.first.name.endswith(heads) for fold in folds_of(tensors))
    return False if stated is None and known else stated


def _mtp_layers(text: Table, tensors: Sequence[Tensor]) -> int:
    """Layers for multi-token prediction: as stated, or as found among the tensors (Qwen3-Next's config is silent)."""
    stated = text.count("mtp_num_hidden_layers", "num_nextn_predict_layers", least=0, most=1000)
    if stated is not None:
        return stated
    names = [fold.first.name for fold in folds_of(tensors)]
    found = {name.split(".")[2] for name in names if name.startswith("mtp.layers.")}
    return len(found)
