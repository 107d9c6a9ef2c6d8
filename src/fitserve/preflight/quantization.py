"""Which format the weights are quantized in, and which flags that needs (S14)."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.model import ModelFacts, QuantFormat
from fitserve.plan.plan import Check, CheckState
from fitserve.preflight.subject import Subject
from fitserve.text import tr

NAME = "quantization"
_OWN_WORDS = (QuantFormat.NONE, QuantFormat.AWQ, QuantFormat.GPTQ, QuantFormat.COMPRESSED_TENSORS)


def check(subject: Subject) -> Iterator[Check]:
    """The format in words; a failure where vLLM can't load it."""
    facts = subject.facts
    if facts is None:
        return
    shown = f"{facts.quantization.format.value} {described(facts)}".strip()
    if facts.serving_problem:
        hint = f"fitserve inspect {subject.model}"
        yield Check(NAME, CheckState.FAIL, facts.serving_problem, shown, hint)
        return
    form = facts.quantization.format
    key = form.value.replace("-", "_") if form in _OWN_WORDS else "other"
    what = shown if key == "other" else described(facts)
    yield Check(NAME, CheckState.OK, tr(f"check.quant_{key}", what=what), facts.quantization.method)


def described(facts: ModelFacts) -> str:
    """`pack-quantized, 4 bit, g32, zero points`; the number format where nothing is quantized."""
    quantization = facts.quantization
    if quantization.format is QuantFormat.NONE:
        return facts.dtype or "?"
    parts = [quantization.packing] if quantization.packing else []
    parts += [f"{quantization.bits} bit"] if quantization.bits else []
    parts += [f"g{quantization.group_size}"] if quantization.group_size else []
    parts += ["zero points"] if quantization.symmetric is False else []
    parts += ["act-order"] if any(group.act_order for group in quantization.groups) else []
    return ", ".join(parts)
