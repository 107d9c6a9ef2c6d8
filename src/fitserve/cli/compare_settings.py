"""A setting as a person types it: `eager`, `graphs`, `tp=2`, `seqs=64,kv-dtype=fp8`, or vLLM's own names."""

from __future__ import annotations

from typing import Any

import click

from fitserve.cli.plan_options import plan_options
from fitserve.errors import SettingsError
from fitserve.text import tr

AS_IS = "as-is"
_WORDS: dict[str, dict[str, Any]] = {
    AS_IS: {},
    "eager": {"execution": "eager"},
    "graphs": {"execution": "graphs"},
    "auto": {"execution": "auto"},
    "articles": {"preset": "articles"},
}
_SHORT = {
    "tp": "tensor_parallel_size",
    "seqs": "max_num_seqs",
    "batched": "max_num_batched_tokens",
    "length": "max_model_len",
    "kv_dtype": "kv_cache_dtype",
    "utilization": "gpu_memory_utilization",
    "capture": "max_cudagraph_capture_size",
    "prefix_caching": "enable_prefix_caching",
}
_NOT_HERE = ("gpus", "engine_version", "served_model_name")


@click.command()
@plan_options
def _plan(**_options: Any) -> None:  # noqa: ANN401 - holds the options' types, is never run
    """Never run."""


_PARAMS = {str(param.name): param for param in _plan.params if param.name not in _NOT_HERE}


def parse_setting(text: str) -> dict[str, Any]:
    """The options that a setting stands for. Raises SettingsError."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        values |= _WORDS[part] if part in _WORDS else _named(part)
    return values


def merged(before: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """A deployment's own wishes under a setting: what says the same in other words has to go."""
    values = dict(before)
    if "execution" in setting or "preset" in setting:
        for name in ("enforce_eager", "execution", "preset"):
            values.pop(name, None)
    return values | setting


def _named(part: str) -> dict[str, Any]:
    name, equals, value = part.partition("=")
    key = name.lstrip("-").replace("-", "_")
    param = _PARAMS.get(_SHORT.get(key, key))
    if param is None or not equals or param.name is None:
        words = ", ".join([*_WORDS, *(f"{short.replace('_', '-')}=…" for short in _SHORT)])
        raise SettingsError(tr("measure.bad_setting", text=part), evidence=words, hint="fitserve compare --help")
    try:
        return {param.name: param.type.convert(value, param, None)}
    except click.BadParameter as error:
        raise SettingsError(
            tr("measure.bad_setting", text=part), evidence=error.message, hint="fitserve compare --help"
        ) from error
