"""Flags that change what a start needs and that the ledger does not weigh: nothing surely fits while one is there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from fitserve.facts.model import ModelFacts, QuantFormat
from fitserve.plan.cache_shape import ITEM_BYTES
from fitserve.plan.parse import mtp_drafts, parse
from fitserve.plan.plan import Verdict

# Those that can lower what is needed: with one of them nobody can say that a start does not fit either.
LOWERING = frozenset(
    {
        "--pipeline-parallel-size", "--decode-context-parallel-size", "--prefill-context-parallel-size",
        "--compilation-config", "--optimization-level", "--cudagraph-capture-sizes", "--config", "--hf-overrides",
        "--quantization", "--dtype", "--offload-group-size", "--offload-params", "--mamba-cache-dtype",
        "--mamba-ssm-cache-dtype", "--num-gpu-blocks-override", "--data-parallel-size",
    }
)  # fmt: skip
RAISING = frozenset(
    {
        "--cpu-offload-gb", "--enable-lora", "--enable-dbo", "--enable-eplb", "--kv-transfer-config",
        "--quantization-config", "--speculative-config", "--spec-method", "--spec-model", "--nnodes",
    }
)  # fmt: skip
_PLAIN_LEVEL = "2"  # vLLM's default
_ORDER = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)


def unweighed(extra: Sequence[str], model: ModelFacts) -> Iterator[str]:
    """The flags among `extra` that move memory, as they were named; those at vLLM's own value are left out."""
    for name, value in parse(extra).flags.items():
        plain = _plain(name)
        if plain in LOWERING | RAISING and not _idle(plain, name, value, model):
            yield name


def _plain(name: str) -> str:
    """`--compilation-config.mode`, `-cc.mode` and `-O0` under the name of the whole."""
    if name.startswith("-O"):
        return "--optimization-level"
    return "--compilation-config" if name.startswith("-cc") else name.split(".")[0]


def _idle(plain: str, name: str, value: str | None, model: ModelFacts) -> bool:
    if plain == "--optimization-level":
        return (value or name.removeprefix("-O").lstrip(".=")) == _PLAIN_LEVEL
    if plain == "--speculative-config":
        return mtp_drafts([value])
    if plain == "--dtype":
        return value == "auto" or ITEM_BYTES.get(value or "") == ITEM_BYTES.get(model.dtype)
    if plain == "--quantization":
        return model.quantization.format is not QuantFormat.NONE
    if plain == "--cpu-offload-gb":
        return value in ("0", "0.0")
    return plain.endswith(("-parallel-size", "--nnodes")) and value == "1"


def stages_and_replicas(flags: Mapping[str, str | None]) -> int:
    """Pipeline stages times replicas: each takes as many cards as there are tensor-parallel ranks."""
    counts = (flags.get(name) or "" for name in ("--pipeline-parallel-size", "--data-parallel-size"))
    return math.prod(int(count) for count in counts if count.isdecimal() and int(count))


def capped(verdict: Verdict, flags: Sequence[str]) -> Verdict:
    """At most tight; and tight where one of the flags may make room that nobody has weighed."""
    if not flags:
        return verdict
    if any(_plain(flag) in LOWERING for flag in flags):
        return Verdict.TIGHT
    return _ORDER[max(_ORDER.index(verdict), _ORDER.index(Verdict.TIGHT))]
