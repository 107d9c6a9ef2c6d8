"""`inspect MODEL --json`: one document, bytes as integers, null for what is not known."""

from __future__ import annotations

from dataclasses import asdict

from fitserve.facts.config import printable
from fitserve.facts.model import LayerKind, ModelFacts
from fitserve.facts.summary import GroupSummary, left_in_sixteen_bit
from fitserve.facts.tensors import folds_of
from fitserve.facts.weights import ModuleGroup


def model_document(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> dict[str, object]:
    """The facts and their sums. A sample is kept in tests/data/inspect_model.json."""
    return {
        "schema_version": 1,
        "kind": "model",
        "name": facts.name,
        "source": printable(facts.source),
        "architecture": facts.architecture or None,
        "model_type": facts.model_type or None,
        "dtype": facts.dtype or None,
        "hidden_size": facts.hidden,
        "intermediate_size": facts.intermediate,
        "vocab_size": facts.vocab,
        "tied_embeddings": facts.tied_embeddings,
        "max_positions": facts.max_positions,
        "layers": _layers(facts),
        "attention": asdict(facts.attention) if facts.attention else None,
        "sliding_window": facts.sliding_window,
        "linear_attention": asdict(facts.linear_attention) if facts.linear_attention else None,
        "experts": asdict(facts.experts) if facts.experts else None,
        "vision": asdict(facts.vision) if facts.vision else None,
        "mtp_layers": facts.mtp_layers,
        "quantization": _quantization(facts, rows),
        "weights": _weights(facts, rows),
        "integrity": {"state": integrity_state(facts), "problems": list(facts.problems)},
        "serving_problem": facts.serving_problem or None,
        "notes": list(facts.notes),
    }


def integrity_state(facts: ModelFacts) -> str:
    """`ok`, `fail`, or `unknown` where the files themselves were not looked at."""
    if facts.problems:
        return "fail"
    return "ok" if facts.tensors and not facts.layout_inferred else "unknown"


def _layers(facts: ModelFacts) -> dict[str, int]:
    kinds = {kind.value: facts.count(kind) for kind in LayerKind}
    return {"count": len(facts.layers)} | {name: count for name, count in kinds.items() if count}


def _quantization(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> dict[str, object]:
    quantization = facts.quantization
    return {
        "format": quantization.format.value,
        "method": quantization.method or None,
        "packing": quantization.packing or None,
        "bits": quantization.bits,
        "group_size": quantization.group_size,
        "symmetric": quantization.symmetric,
        "groups": [asdict(group) for group in quantization.groups],
        "ignored_modules": len(quantization.ignore),
        "left_in_16_bit": [row.group.value for row in left_in_sixteen_bit(facts, rows)],
    }


def _weights(facts: ModelFacts, rows: tuple[GroupSummary, ...]) -> dict[str, object]:
    return {
        "tensors": len(facts.tensors),
        "shards": len({fold.first.shard for fold in folds_of(facts.tensors)}),
        "parameters": sum(row.parameters for row in rows),
        "bytes": facts.checkpoint_bytes,
        "bytes_without_mtp": sum(row.size_bytes for row in rows if row.group is not ModuleGroup.MTP),
        "layout_inferred": facts.layout_inferred,
        "groups": [
            {
                "group": row.group.value,
                "parameters": row.parameters,
                "bytes": row.size_bytes,
                "bytes_by_dtype": row.bytes_by_dtype,
            }
            for row in rows
        ],
    }
