"""The options that `plan`, `up` and others share: vLLM's names, vLLM's number suffixes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from fitserve.errors import SettingsError
from fitserve.plan.request import EXECUTIONS, GOALS, PRESETS, PlanRequest
from fitserve.text import tr
from fitserve.units import parse_bytes, parse_count

_Function = Callable[..., Any]


class Count(click.ParamType[int]):
    """`4096`, `32K` (32768), `25.6k` (25600)."""

    name = "n"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            count = value if isinstance(value, int) else parse_count(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if count < 1:
            self.fail(tr("plan.at_least_one", value=value), param, ctx)
        return count


class Size(click.ParamType[int]):
    """`2147483648`, `2GiB`; vLLM's own suffixes too (`2G` is 2**30)."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value)
        try:
            return parse_bytes(text) if text[-1:] in ("b", "B") else parse_count(text)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Table(click.ParamType[dict[str, object]]):
    """A JSON object."""

    name = "json"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, object]:
        if isinstance(value, dict):
            return value
        try:
            table = json.loads(str(value))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        if not isinstance(table, dict):
            self.fail(tr("plan.not_a_table", value=value), param, ctx)
        return table


_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--tensor-parallel-size", "-tp"), {"type": Count(), "help": "ranks (default: chosen)"}),
    (("--max-model-len",), {"type": Count(), "help": "longest request in tokens, 32K = 32768 (default: what fits)"}),
    (("--max-num-seqs",), {"type": Count(), "help": "requests at once"}),
    (("--max-num-batched-tokens",), {"type": Count(), "help": "tokens in one step"}),
    (("--gpu-memory-utilization",), {"type": click.FloatRange(0, 1, min_open=True), "help": "share of the card"}),
    (("--kv-cache-memory-bytes",), {"type": Size(), "help": "cache size in place of the utilization"}),
    (("--kv-cache-space",), {"type": Count(), "help": "CPU engine: GiB for the cache (VLLM_CPU_KVCACHE_SPACE)"}),
    (("--kv-cache-dtype",), {"help": "auto, bfloat16, fp8 …"}),
    (("--block-size",), {"type": Count(), "help": "smallest cache block"}),
    (("--enable-prefix-caching/--no-enable-prefix-caching",), {"default": None, "help": "reuse equal beginnings"}),
    (("--execution",), {"type": click.Choice(EXECUTIONS), "default": "auto", "help": "CUDA graphs or eager"}),
    (("--enforce-eager",), {"is_flag": True, "help": "the same as --execution eager"}),
    (("--limit-mm-per-prompt",), {"type": Table(), "help": '\'{"image": 2, "video": 0}\''}),
    (("--mm-processor-kwargs",), {"type": Table(), "help": "'{\"max_pixels\": 1048576}'"}),
    (("--mm-encoder-tp-mode",), {"type": click.Choice(["weights", "data"]), "help": "vision tower split or copied"}),
    (("--language-model-only",), {"is_flag": True, "help": "leave the vision tower out"}),
    (("--enable-expert-parallel", "-ep"), {"is_flag": True, "help": "whole experts on each rank"}),
    (("--max-cudagraph-capture-size",), {"type": Count(), "help": "largest captured batch"}),
    (("--num-speculative-tokens",), {"type": click.IntRange(0, 16), "default": 0, "help": "drafts by the MTP layer"}),
    (("--served-model-name",), {"default": "", "help": "the name clients ask for"}),
    (("--goal",), {"type": click.Choice(GOALS), "default": "latency", "help": "what a free choice is made for"}),
    (("--preset",), {"type": click.Choice(PRESETS), "default": None, "help": "articles: TP = cards, eager, 4096"}),
    (("--gpus",), {"default": "auto", "help": "auto, none, 2xRTX3090, 2x24GiB, recorded:FILE"}),
    (("--engine-version",), {"default": None, "help": "plan for this vLLM version"}),
)


def plan_options(function: _Function) -> _Function:
    """Give a command all options of a plan."""
    for names, settings in reversed(_OPTIONS):
        function = click.option(*names, **settings)(function)
    return function


def request_from(options: Mapping[str, object], extra: tuple[str, ...] = ()) -> PlanRequest:
    """The request that the options and the words after `--` make. The words may not contradict the options."""
    values: dict[str, Any] = {
        name: value for name, value in options.items() if name in PlanRequest.__dataclass_fields__
    }
    values["cpu_kv_cache_space_gib"] = options.get("kv_cache_space")
    values["preset"] = options.get("preset") or ""
    values["mm_processor_kwargs"] = options.get("mm_processor_kwargs") or {}
    if options.get("enforce_eager"):
        values["execution"] = "eager"
    return weigh_extra(_checked(PlanRequest(**values), extra))


def _checked(request: PlanRequest, extra: tuple[str, ...]) -> PlanRequest:
    """Raises SettingsError for a value that vLLM would refuse."""
    from fitserve.plan.valid import flag_of, problems

    if wrong := [f"{flag_of(name)}: {why}" for name, why in problems(request)]:
        raise SettingsError(tr("plan.invalid_values"), evidence="; ".join(wrong), hint="fitserve plan --help")
    return replace(request, extra=extra)


def weigh_extra(request: PlanRequest) -> PlanRequest:
    """What follows `--` is weighed: flags that the plan knows become part of it, the others go to vLLM as they are."""
    from fitserve.plan.parse import parse

    if not request.extra:
        return request
    parsed = parse(("--model=", *request.extra), request)
    if parsed.stray:
        hint = "fitserve plan MODEL -- --FLAG VALUE"
        raise SettingsError(tr("plan.stray_words"), evidence=" ".join(parsed.stray), hint=hint)
    if parsed.invalid:
        raise SettingsError(tr("plan.invalid_extra"), evidence="; ".join(parsed.invalid), hint="fitserve plan --help")
    return parsed.request
