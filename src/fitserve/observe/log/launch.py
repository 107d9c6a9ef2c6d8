"""The settings of a start, under vLLM's flag names, from its own lines or from a command line."""

from __future__ import annotations

import ast
import json
import re
import shlex

from fitserve.units import parse_count

_ARGS = re.compile(r"^(?:non-default )?args: (\{.{0,7900}|Namespace\(.{0,7900})")
_CONFIG = re.compile(r"LLM engine (?:\(v\S{1,60}\) )?with config: (.{0,7900})")
_PAIR = re.compile(
    r"['\"]?\b([a-z_]{2,40})['\"]?[=:] ?(True|False|None|-?\d{1,12}(?:\.\d{1,6})?|'[^']{0,300}'|torch\.\w{1,30})"
)
_NAMES = {"max_seq_len": "max_model_len", "gpu_memory_util": "gpu_memory_utilization", "tp": "tensor_parallel_size"}
_SHORT = {"-tp": "--tensor-parallel-size", "-pp": "--pipeline-parallel-size", "-q": "--quantization"}
_SHORT |= {"-dp": "--data-parallel-size", "-O": "--optimization-level", "-cc": "--compilation-config"}
_CONFIG_KEYS = (
    "model", "dtype", "max_seq_len", "tensor_parallel_size", "pipeline_parallel_size", "quantization",
    "enforce_eager", "kv_cache_dtype", "load_format", "trust_remote_code", "enable_prefix_caching",
)  # fmt: skip


def from_line(text: str) -> dict[str, object]:
    """Flags that this message states: {"--max-num-seqs": 64, ...}; empty for any other message."""
    args = _ARGS.match(text)
    if args:
        return _flags(_literal(args[1]) or dict(_pairs(args[1])))
    config = _CONFIG.search(text)
    if config:
        pairs = dict(_pairs(config[1]))
        return _flags({key: pairs[key] for key in _CONFIG_KEYS if pairs.get(key) is not None})
    return {}


def from_command(command: str) -> dict[str, object]:
    """Flags of a command line (`vllm serve M --max-num-seqs 64`) or of bare flags. ValueError on bad quoting."""
    words = shlex.split(command)
    out: dict[str, object] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "serve" and index < len(words) and not words[index].startswith("-"):
            out["--model"] = words[index]
            index += 1
            continue
        if not re.match(r"--?[A-Za-z]", word):
            continue
        flag, equals, value = word.partition("=")
        flag = _SHORT.get(flag, flag)
        if not equals and index < len(words) and not re.match(r"--?[A-Za-z]", words[index]):
            value = words[index]
            index += 1
            equals = "="
        _put(out, flag, _typed(value) if equals else True)
    return out


def _put(out: dict[str, object], flag: str, value: object) -> None:
    flag = "--" + flag.lstrip("-").replace("_", "-")
    head, dot, key = flag.partition(".")
    if dot:
        nested = out.setdefault(head, {})
        if isinstance(nested, dict):
            nested[key.replace("-", "_")] = value
        return
    if flag.startswith("--no-") and value is True:
        flag, value = "--" + flag[5:], False
    out[flag] = value


def _typed(text: str) -> object:
    if text[:1] in "{[":
        try:
            return json.loads(text)
        except ValueError:
            return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if {"true": True, "false": False}.get(text.lower()) is not None:
        return text.lower() == "true"
    if re.fullmatch(r"\d+(?:\.\d+)?[kKmMgG]", text):
        return parse_count(text)
    return text


def _literal(text: str) -> dict[str, object]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _pairs(text: str) -> list[tuple[str, object]]:
    words = {"True": True, "False": False, "None": None}
    out: list[tuple[str, object]] = []
    for name, value in _PAIR.findall(text):
        value = value.removeprefix("torch.")
        out.append((name, words[value] if value in words else value[1:-1] if value[0] == "'" else _typed(value)))
    return out


def _flags(values: dict[str, object]) -> dict[str, object]:
    out = {}
    for name, value in values.items():
        name = _NAMES.get(name, name)
        out["--" + ("model" if name == "model_tag" else name).replace("_", "-")] = value
    return out
