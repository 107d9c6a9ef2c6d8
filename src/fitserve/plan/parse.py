"""From somebody's command to settings, the way back of flags.py: for `--from`, what follows `--`, the doctor."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import cast

from fitserve.plan.flags import CLOSED_FLAGS
from fitserve.plan.program import Started, program, split_commands, started
from fitserve.plan.request import PlanRequest
from fitserve.plan.settings import Limit
from fitserve.plan.valid import flag_of, problems, without
from fitserve.units import parse_count

# Gone from vLLM: given today they end the start with "unrecognized arguments".
GONE = frozenset(
    {
        "--swap-space",
        "--num-gpu-blocks",
        "--max-seq-len-to-capture",
        "--use-v2-block-manager",
        "--preemption-mode",
        "--num-scheduler-steps",
        "--enable-chunked-context",
        "--worker-use-ray",
        "--engine-use-ray",
        "--disable-log-requests",
        "--max-context-len-to-capture",
        "--num-lookahead-slots",
        "--guided-decoding-backend",
        "--device",
    }
)
_GONE_SWITCHES = {
    "--use-v2-block-manager", "--enable-chunked-context", "--worker-use-ray", "--engine-use-ray",
    "--disable-log-requests",
}  # fmt: skip

Piece = tuple[str, tuple[str, ...]]  # a flag's full name ("" for a word of none), and its words as they were typed


@dataclass(frozen=True)
class ParsedCommand:
    """A command read: what is asked, which flags nobody knows or are gone, which values are not valid."""

    model: str
    request: PlanRequest
    unknown: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()  # "--max-model-len: 'x' is not a number"
    flags: dict[str, str | None] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    stray: tuple[str, ...] = ()  # words beside the model that belong to no flag
    version: str | None = None  # of the image that a container is started from
    pieces: tuple[Piece, ...] = ()
    launcher: tuple[str, ...] = ()  # what stands before the flags, as it was typed: `uv run vllm serve`
    container: bool = False


@cache
def flag_kinds() -> dict[str, str]:
    """Each flag of the API server and what follows it: `switch`, `one`, `many`."""
    table = tomllib.loads((Path(__file__).parent / "vllm_flags.toml").read_text(encoding="utf-8"))
    return {name: kind for kind, names in table.items() for name in names}


def parse_text(text: str) -> ParsedCommand:
    """A command as it stands in a shell or a README: line continuations, quotes and leading VAR=value allowed.

    Of several commands the last that starts vLLM. Raises ValueError for an open quote.
    """
    return _parsed(started(split_commands(text)), None)


def parse(argv: Sequence[str], base: PlanRequest | None = None) -> ParsedCommand:
    """An argv (`vllm serve MODEL …`, `python -m vllm… --model MODEL …`, or flags alone)."""
    return _parsed(program(argv), base)


def _parsed(start: Started, base: PlanRequest | None) -> ParsedCommand:
    env = start.env
    reader = _Reader(base or PlanRequest(), dict(flag_kinds()))
    positional = reader.read(start.words)
    model = reader.flags.get("--model") or (positional[0] if positional else "")
    request = replace(reader.request, extra=tuple(reader.extra))
    if "VLLM_CPU_KVCACHE_SPACE" in env and env["VLLM_CPU_KVCACHE_SPACE"].isdigit():
        request = replace(request, cpu_kv_cache_space_gib=int(env["VLLM_CPU_KVCACHE_SPACE"]))
    wrong = list(problems(request))
    invalid = (*reader.invalid, *(f"{flag_of(name)}: {why}" for name, why in wrong))
    request = without(request, {name for name, _ in wrong})
    stray = tuple(positional if "--model" in reader.flags else positional[1:])
    return ParsedCommand(
        model, request, tuple(reader.unknown), tuple(reader.gone), invalid, reader.flags, env, stray, start.version,
        tuple(reader.pieces), start.launcher, start.container,
    )  # fmt: skip


def _kept(name: str, values: list[str]) -> bool:
    """Whether a flag goes on as it was written: the plan's own settings do not hold all of it."""
    if name == "--speculative-config":
        return not set(_table_of(values)) <= {"method", "num_speculative_tokens"} or not mtp_drafts(values)
    return name not in _APPLY and name != "--model" and (name, *values) not in CLOSED_FLAGS


def _table_of(values: Sequence[str | None]) -> dict[str, object]:
    try:
        return _json_table(values[0] or "") if values else {}
    except ValueError:
        return {}


def mtp_drafts(values: Sequence[str | None]) -> bool:
    """Whether a --speculative-config drafts with the checkpoint's own MTP layers (`mtp`, `qwen3_next_mtp` …)."""
    return str(_table_of(values).get("method", "")).endswith("mtp")


class _Reader:
    """Reads flags into a request, one after the other; the last of two wins, as in vLLM."""

    def __init__(self, request: PlanRequest, kinds: dict[str, str]) -> None:
        self.request = request
        self.extra: list[str] = []
        self.pieces: list[Piece] = []
        self.kinds = kinds
        self.flags: dict[str, str | None] = {}
        self.unknown: list[str] = []
        self.gone: list[str] = []
        self.invalid: list[str] = []

    def read(self, words: Sequence[str]) -> list[str]:
        """Read all; returns the words that belong to no flag."""
        rest = list(words)
        positional: list[str] = []
        while rest:
            word = rest.pop(0)
            if not word.startswith("-") or word == "-":
                positional.append(word)
                self.pieces.append(("", (word,)))
                continue
            name, equals, value = word.partition("=")
            name = _spelling(name)
            values = [value] if equals else self._values(name, rest)
            self._flag(name, values)
            typed = (word,) if equals else (word, *values)
            self.pieces.append((name, typed))
            if _kept(name, values):
                self.extra += typed
        return positional

    def _values(self, name: str, rest: list[str]) -> list[str]:
        """Take the words after a flag that belong to it. An unknown flag takes the one word that is no flag."""
        kind = "switch" if name in _GONE_SWITCHES else self.kinds.get(name, "one")
        if kind == "switch" or not rest:
            return []
        if kind == "one":
            return [rest.pop(0)] if name in self.kinds or not rest[0].startswith("-") else []
        taken = []
        while rest and not rest[0].startswith("--"):
            taken.append(rest.pop(0))
        return taken

    def _flag(self, name: str, values: list[str]) -> None:
        self.flags[name] = values[0] if values else None
        if name in GONE:
            self.gone.append(name)
        elif name not in self.kinds and "." not in name and not name.startswith(("-cc", "-O", "-q")):
            self.unknown.append(name)
        if name in _APPLY:
            try:
                self.request = _APPLY[name](self.request, values[0] if values else "")
            except (ValueError, TypeError, AttributeError) as error:
                self.invalid.append(f"{name}: {error}")


_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-sc": "--speculative-config",
    "-q": "--quantization",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-cc": "--compilation-config",
    "--kv-cache-memory": "--kv-cache-memory-bytes",  # as vLLM's own log suggests it
}


def _spelling(name: str) -> str:
    name = _SHORT.get(name, name)
    return name.replace("_", "-") if name.startswith("--") else name


def _json_table(text: str) -> dict[str, object]:
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"{text!r} is not a JSON object")
    return table


def _size(text: str) -> float:
    size = float(text)
    if not 0 <= size < math.inf:
        raise ValueError(f"{text!r} is not a size")
    return size


def _limits(text: str) -> dict[str, Limit]:
    """JSON, or the old spelling `image=1,video=0`. What JSON holds is looked at in plan/valid.py."""
    if text.startswith("{"):
        return cast("dict[str, Limit]", _json_table(text))
    return {key: int(value) for key, _, value in (part.partition("=") for part in text.split(","))}


def _whole(name: str) -> Callable[[PlanRequest, str], PlanRequest]:
    def apply(request: PlanRequest, text: str) -> PlanRequest:
        changed: PlanRequest = replace(request, **{name: parse_count(text)})  # type: ignore[arg-type] # name is a field of int
        return changed

    return apply


def _length(request: PlanRequest, text: str) -> PlanRequest:
    automatic = text in ("-1", "auto")
    return replace(request, max_model_len=None if automatic else parse_count(text))


def _drafts(request: PlanRequest, text: str) -> PlanRequest:
    count = int(str(_json_table(text).get("num_speculative_tokens", 1)))
    return replace(request, num_speculative_tokens=count if mtp_drafts([text]) else 0)


_APPLY: dict[str, Callable[[PlanRequest, str], PlanRequest]] = {
    "--tensor-parallel-size": _whole("tensor_parallel_size"),
    "--max-num-seqs": _whole("max_num_seqs"),
    "--max-num-batched-tokens": _whole("max_num_batched_tokens"),
    "--kv-cache-memory-bytes": _whole("kv_cache_memory_bytes"),
    "--block-size": _whole("block_size"),
    "--max-cudagraph-capture-size": _whole("max_cudagraph_capture_size"),
    "--port": _whole("port"),
    "--max-model-len": _length,
    "--speculative-config": _drafts,
    "--host": lambda request, text: replace(request, host=text),
    "--served-model-name": lambda request, text: replace(request, served_model_name=text),
    "--kv-cache-dtype": lambda request, text: replace(request, kv_cache_dtype=text),
    "--gpu-memory-utilization": lambda request, text: replace(request, gpu_memory_utilization=float(text)),
    "--cpu-offload-gb": lambda request, text: replace(request, cpu_offload_gb=_size(text)),
    "--limit-mm-per-prompt": lambda request, text: replace(request, limit_mm_per_prompt=_limits(text)),
    "--mm-processor-kwargs": lambda request, text: replace(request, mm_processor_kwargs=_json_table(text)),
    "--mm-encoder-tp-mode": lambda request, text: replace(request, mm_encoder_tp_mode=text),
    "--enforce-eager": lambda request, _: replace(request, execution="eager"),
    "--no-enforce-eager": lambda request, _: replace(request, execution="graphs"),
    "--enable-prefix-caching": lambda request, _: replace(request, enable_prefix_caching=True),
    "--no-enable-prefix-caching": lambda request, _: replace(request, enable_prefix_caching=False),
    "--language-model-only": lambda request, _: replace(request, language_model_only=True),
    "--enable-expert-parallel": lambda request, _: replace(request, enable_expert_parallel=True),
}
