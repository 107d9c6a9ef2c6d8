"""Why vLLM can't serve a folder as it is: one sentence, or none.

The methods and architectures are those of vLLM 0.32 (its quantization list and its model registry).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fitserve.facts.config import printable
from fitserve.facts.model import ModelFacts, QuantFormat
from fitserve.facts.tensors import folds_of
from fitserve.text import tr

JUDGED_BY = "0.32"
_METHODS = {
    "awq", "auto_awq", "awq_marlin", "fp8", "fbgemm_fp8", "fp_quant", "modelopt", "modelopt_fp4", "modelopt_mxfp8",
    "modelopt_mixed", "auto_gptq", "gptq", "gptq_marlin", "compressed-tensors", "compressed_tensors", "experts_int8",
    "quark", "torchao", "inc", "auto-round", "intel/auto-round", "auto_round", "mxfp4", "gpt_oss_mxfp4", "mxfp8",
    "humming", "deepseek_v4_fp8",
}  # fmt: skip


def serving_problem(facts: ModelFacts, files: tuple[str, ...]) -> str:
    """The first reason that stands in the way, as a sentence; "" where none is known."""
    for reason in (_files, _method, _architecture, _packing):
        sentence = reason(facts, files)
        if sentence:
            return sentence
    return ""


def _files(facts: ModelFacts, files: tuple[str, ...]) -> str:
    weights = any(name.endswith(".safetensors") for name in files)
    if facts.quantization.format is QuantFormat.GGUF or (not weights and any(name.endswith(".gguf") for name in files)):
        return tr("facts.gguf")
    if not weights and files:
        old = next((name for name in files if name.endswith((".bin", ".pt", ".pth"))), "")
        return tr("facts.old_weights", file=printable(old)) if old else tr("facts.no_weights")
    return ""


def _method(facts: ModelFacts, files: tuple[str, ...]) -> str:  # noqa: ARG001 - one signature for all reasons
    quantization = facts.quantization
    if quantization.format is QuantFormat.BITSANDBYTES:
        return tr("facts.bitsandbytes")
    if quantization.method and quantization.method not in _METHODS:
        return tr("facts.unknown_method", method=printable(quantization.method), version=JUDGED_BY)
    return ""


def _architecture(facts: ModelFacts, files: tuple[str, ...]) -> str:  # noqa: ARG001 - one signature for all reasons
    if not facts.architecture:
        return tr("facts.no_architecture")
    if facts.architecture not in architectures():
        return tr("facts.unknown_architecture", architecture=printable(facts.architecture), version=JUDGED_BY)
    return ""


def _packing(facts: ModelFacts, files: tuple[str, ...]) -> str:  # noqa: ARG001 - one signature for all reasons
    """A config of one dialect over the tensors of another: AutoAWQ's names under compressed-tensors, and the like."""
    suffixes = {fold.first.name.rpartition(".")[2] for fold in folds_of(facts.tensors)}
    if not suffixes:
        return ""
    dialect = facts.quantization.format
    wants = {
        QuantFormat.AWQ: {"qweight"},
        QuantFormat.GPTQ: {"qweight"},
        QuantFormat.COMPRESSED_TENSORS: {"weight_packed", "weight_scale", "weight_zero_point"},
    }.get(dialect, set())
    if wants and not wants & suffixes:
        return tr("facts.other_packing", dialect=dialect.value, want=" / ".join(sorted(wants)))
    if dialect is QuantFormat.NONE and suffixes & {"qweight", "weight_packed"}:
        return tr("facts.no_quantization_config", found=", ".join(sorted(suffixes & {"qweight", "weight_packed"})))
    return ""


@cache
def architectures() -> frozenset[str]:
    """The architectures of vLLM's model registry."""
    return frozenset((Path(__file__).parent / "architectures.txt").read_text(encoding="utf-8").split())
