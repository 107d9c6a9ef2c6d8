"""The numbers that vLLM and torch print, under one name each: GiB, tokens, blocks, seconds.

Names end in their unit. torch's sentence about a failed allocation becomes `asked_gib`, `free_gib` and so on; it is
kept from the first failure, because later ones are echoes. A name that was not printed is absent, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fitserve.observe.log.lines import LogLine, parse
from fitserve.observe.log.match import Index, Pattern, pattern

Value = float | int | str | bool
_N = r"(-?\d{1,12}(?:\.\d{1,6})?)"
_SIZE = r"(\d{1,12}(?:\.\d{1,6})?) (bytes|[KMGT]iB)"
_COUNT = r"([\d,]{1,20})"
_UNIT = {"bytes": 2**-30, "KiB": 2**-20, "MiB": 2**-10, "GiB": 1.0, "TiB": 1024.0}

Keep = Callable[[Value, Value], Value]


def _last(_old: Value, new: Value) -> Value:
    return new


def _first(old: Value, _new: Value) -> Value:
    return old


def _least(old: Value, new: Value) -> Value:
    """The smallest rank decides."""
    return min(old, new) if isinstance(old, (int, float)) and isinstance(new, (int, float)) else new


def _most(old: Value, new: Value) -> Value:
    return max(old, new) if isinstance(old, (int, float)) and isinstance(new, (int, float)) else new


# Each pattern's key lists the figures of its groups; "" skips a group.
FIGURES = [
    pattern(
        "version",
        "version engine",
        r"(?:vLLM API server version|vLLM server version|LLM engine "
        r"\(v|^version|█ +version) ?v?(\d[\w.+-]{0,40})",
    ),
    pattern(
        "model",
        "model",
        r"█ +model +(\S.{0,200}?)\s*$|^Starting to load model (\S.{0,200}?)\.\.\.|serving model "
        r"(\S{1,200})|with config: model='([^']{1,200})'",
    ),
    pattern(
        "weights_gib load_seconds",
        "loading",
        rf"^(?:Model loading|Loading model weights) took {_N} (?:GiB|GB)(?: memory)?(?: and {_N} "
        rf"seconds)?",
    ),
    pattern("weights_seconds", "weights", rf"^Loading weights took {_N} seconds"),
    pattern(
        "checkpoint_gib ram_available_gib",
        "checkpoint",
        rf"Checkpoint size: {_N} GiB(?:.{{0,20}}Available RAM: {_N} GiB)?",
    ),
    pattern("available_kv_gib", "available", rf"^Available KV cache memory: {_N} GiB"),
    pattern("available_kv_gib", "cache", rf"\(?(?:Explicitly|Auto) set \({_N}/[\d.]+\) GiB for KV cache"),
    pattern(
        "weights_gib non_torch_gib activation_peak_gib available_kv_gib",
        "weights",
        rf"model weights take {_N}GiB; non_torch_memory takes {_N}GiB; PyTorch activation peak memory "
        rf"takes {_N}GiB; the rest of the memory reserved for KV Cache is {_N}GiB",
    ),
    pattern(
        "total_gib utilization requested_gib",
        "total_gpu_memory",
        rf"total_gpu_memory \({_N}GiB\) x gpu_memory_utilization \({_N}\) = {_N}GiB",
    ),
    pattern("kv_tokens", "cache", rf"\w{{2,6}}(?: \+ host)? KV cache size: {_COUNT} tokens"),
    pattern(
        "concurrency_tokens concurrency", "concurrency", rf"Maximum concurrency for {_COUNT} tokens per request: {_N}x"
    ),
    pattern("kv_blocks", "blocks", r"^# ?(?:GPU|cuda|CUDA|CPU|\w{2,6}) blocks: (\d{1,12})"),
    pattern("kv_blocks", "num_gpu_blocks", r"after num_gpu_blocks is: (\d{1,12})"),
    pattern("probe_blocks", "num_gpu_blocks", r"Overriding num_gpu_blocks=0 with num_gpu_blocks_override=(\d{1,12})"),
    pattern("block_tokens", "attention", r"Setting attention block size to (\d{1,9}) tokens"),
    pattern("graph_estimate_gib", "estimated", rf"Estimated CUDA graph memory: {_N} GiB"),
    pattern(
        "graph_actual_gib graph_estimate_gib",
        "graph",
        rf"CUDA graph pool memory: {_N} GiB \(actual\), {_N} GiB \(estimated\)",
    ),
    pattern("capture_seconds graph_actual_gib", "capturing", rf"^Graph capturing finished in {_N} secs, took {_N} GiB"),
    pattern("graph_largest", "largest", r"Profiling CUDA graph memory: .{0,200}?\(largest=(\d{1,6})\)"),
    pattern(
        "utilization utilization_without_graphs",
        "utilization",
        rf"current --gpu-memory-utilization={_N} is equivalent to --gpu-memory-utilization={_N}",
    ),
    pattern(
        "encoder_budget_tokens encoder_items encoder_modality",
        "encoder",
        r"Encoder cache will be initialized with a budget of (\d{1,9}) tokens, and profiled with "
        r"(\d{1,6}) (\w{1,20}) items",
    ),
    pattern("compile_seconds", "torch", rf"torch\.compile (?:takes|took) {_N} s in total"),
    pattern("profile_seconds", "warmup", rf"Initial profiling/warmup run took {_N} s"),
    pattern("profile_seconds", "profiling", rf"^Memory profiling takes {_N} seconds"),
    pattern("engine_init_seconds", "engine", rf"^init engine \(profile, create kv cache, warmup model\) took {_N} s"),
    pattern(
        "consumed_gib activation_peak_gib graph_actual_gib",
        "actual",
        rf"Actual usage is {_N} GiB for consumed memory .{{0,40}}?, {_N} GiB for peak activation, "
        rf"and {_N} GiB for CUDAGraph",
    ),
    pattern(
        "weights_gib activation_peak_gib non_torch_gib graph_actual_gib",
        "actual",
        rf"Actual usage is {_N} GiB for weight, {_N} GiB for peak activation, {_N} GiB for non-torch "
        rf"memory, and {_N} GiB for CUDAGraph",
    ),
    pattern(
        "free_at_start_gib total_gib utilization requested_gib",
        "desired",
        rf"Free memory on device .{{0,20}}?\({_N}/{_N} GiB\) on startup.{{0,60}}?(?:utilization (?:is "
        rf")?)\({_N}, {_N} GiB\)",
    ),
    pattern("suggested_kv_bytes", "replace", r"`--kv-cache-memory=(\d{1,15})`"),
    pattern("needed_kv_gib", "needed", rf"{_N} GiB (?:of )?KV cache is needed"),
    pattern("available_kv_gib", "larger available", rf"than the available KV cache memory \({_N} GiB\)"),
    pattern("estimated_max_len", "estimated", r"estimated maximum model length is (\d{1,12})"),
    pattern("max_model_len", "max", r"(?:Using max model len|max seq len \()\s?(\d{1,12})"),
    pattern(
        "max_num_batched_tokens",
        "max_num_batched_tokens",
        r"Chunked prefill is enabled with max_num_batched_tokens=(\d{1,9})",
    ),
    pattern("world_size", "world", r"rank \d{1,5} in world size (\d{1,5})"),
    pattern("nccl_version", "nccl", r"vLLM is using nccl==([\d.]{1,20})"),
    pattern("attention_backend", "attention", r"^Using (\w{1,40}) attention backend out of"),
    pattern(
        "vision_backend",
        "vit mmencoderattention",
        r"^Using (?:default )?(?:backend )?(?:AttentionBackendEnum\.)?(\w{1,40}) for (?:vit "
        r"attention|MMEncoderAttention)",
    ),
    pattern(
        "oom_gpu total_gib free_gib",
        "capacity capacty",
        rf"GPU (\d{{1,4}}) has a total capaci?ty of {_SIZE}(?: of which {_SIZE} is free)?",
    ),
    pattern("asked_gib", "allocate", rf"Tried to allocate {_SIZE}"),
    pattern("in_use_gib", "process", rf"this process has {_SIZE} memory in use"),
    pattern("other_process_gib", "process", rf"Process \d{{1,10}} has {_SIZE} memory in use"),
    pattern("torch_allocated_gib", "allocated", rf"Of the allocated memory {_SIZE} is allocated by PyTorch"),
    pattern("graph_pools_gib", "pools", rf"with {_SIZE} allocated in private pools"),
    pattern("torch_reserved_gib", "reserved", rf"(?:and )?{_SIZE} is reserved by PyTorch but unallocated"),
]
_INDEX = Index(FIGURES)

_KEEP: dict[str, Keep] = {
    "version": _first,
    "model": _first,
    "available_kv_gib": _least,
    "free_at_start_gib": _least,
    "weights_gib": _most,
    "compile_seconds": _most,
    "load_seconds": _most,
}
_SENTENCE = ("asked_gib", "free_gib", "in_use_gib", "other_process_gib", "torch_allocated_gib", "torch_reserved_gib")
_KEEP |= dict.fromkeys((*_SENTENCE, "oom_gpu", "graph_pools_gib"), _first)
_TEXT = {"version", "model", "encoder_modality", "nccl_version", "attention_backend", "vision_backend"}


class FigureReader:
    """Collects figures line by line. `figures` is a plain dict, ready for JSON."""

    def __init__(self) -> None:
        self.figures: dict[str, Value] = {}
        self.lines: dict[str, int] = {}  # where each figure stood

    def feed(self, line: str) -> None:
        """Read one raw line."""
        self.feed_line(parse(0, line))

    def feed_line(self, line: LogLine) -> None:
        """Read one line that is already taken apart."""
        for _, item, found in _INDEX.hits(line.text):
            self.take(line.number, item, found)

    def take(self, number: int, item: Pattern, found: re.Match[str]) -> None:
        """Keep the figures of one match."""
        for name, value in _values(item, found):
            self._put(name, value, number)

    def _put(self, name: str, value: Value, number: int) -> None:
        old = self.figures.get(name)
        kept = value if old is None else _KEEP.get(name, _last)(old, value)
        if kept is not old:
            self.figures[name] = kept
            self.lines[name] = number


def _values(item: Pattern, found: re.Match[str]) -> list[tuple[str, Value]]:
    """Pair the names in the pattern's key with the groups, sizes taking two groups each."""
    names = item.key.split()
    if len(names) == 1 and names[0] in _TEXT:
        return [(names[0], text)] if (text := next(filter(None, found.groups()), "")) else []
    if names == ["other_process_gib"]:  # as many as share the card
        return [(names[0], round(sum(_number(size, unit) for size, unit in found.re.findall(found.string)), 6))]
    out: list[tuple[str, Value]] = []
    groups = list(found.groups())
    for name in names:
        text = groups.pop(0)
        unit = groups.pop(0) if groups and (groups[0] in _UNIT or (text is None and groups[0] is None)) else ""
        if text is not None:
            out.append((name, text if name in _TEXT else _number(text, unit or "")))
    return out


def _number(text: str, unit: str) -> int | float:
    plain = text.replace(",", "")
    if unit:
        return round(float(plain) * _UNIT[unit], 6)
    return float(plain) if "." in plain else int(plain)
