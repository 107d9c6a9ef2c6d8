"""Which dialect of quantization a checkpoint speaks, with bits, group, symmetry and what was left as it was.

Read from config.json's quantization_config (or the side file of older tools), never guessed from a file name.
"""

from __future__ import annotations

from collections.abc import Callable

from fitserve.facts.config import Table
from fitserve.facts.model import QuantFormat, QuantGroup, Quantization

SIDE_FILES = ("quantize_config.json", "quant_config.json", "hf_quant_config.json")  # AutoGPTQ, AutoAWQ, ModelOpt


def read_quantization(config: dict[str, object], side: dict[str, object] | None = None) -> Quantization:
    """The dialect of a config. `side` is the content of one of SIDE_FILES, used where the config itself is silent."""
    text = config.get("text_config")
    for holder in (config, text if isinstance(text, dict) else {}):
        for key in ("quantization_config", "compression_config"):
            raw = holder.get(key)
            if isinstance(raw, dict) and raw:
                return _dialect(Table(raw, f"config.json {key}"))
    return _dialect(Table(_from_side(side), "config.json")) if side else Quantization(QuantFormat.NONE)


def _from_side(side: dict[str, object]) -> dict[str, object]:
    """An old side file in the words of a quantization_config."""
    inner = side.get("quantization")
    if isinstance(inner, dict):  # ModelOpt: {"producer": ..., "quantization": {"quant_algo": "NVFP4", ...}}
        return {"quant_method": "modelopt", **inner}
    return {"quant_method": "awq" if "w_bit" in side or "zero_point" in side else "gptq", **side}


def _dialect(raw: Table) -> Quantization:
    method = raw.text("quant_method").lower()
    if not method and raw.values.get("quant_algo"):
        method = "modelopt"
    if not method and "config_groups" in raw.values:
        method = "compressed-tensors"
    reader = next((read for name, read in _READERS.items() if method.startswith(name)), _other)
    return reader(raw, method)


def _compressed_tensors(raw: Table, method: str) -> Quantization:
    packing = raw.text("format")
    groups = tuple(_group(raw, name, packing) for name in sorted(raw.table("config_groups").values))
    return _joined(QuantFormat.COMPRESSED_TENSORS, groups, raw, method, packing, raw.names("ignore"))


def _group(raw: Table, name: str, packing: str) -> QuantGroup:
    group = raw.table("config_groups").table(name)
    weights, inputs = group.table("weights"), group.table("input_activations")
    act_order = weights.values.get("actorder")
    return QuantGroup(
        name=name,
        bits=weights.count("num_bits"),
        kind=weights.text("type") or "int",
        strategy=weights.text("strategy"),
        group_size=_group_size(weights),
        symmetric=True if weights.flag("symmetric") is None else weights.flag("symmetric"),
        packing=group.text("format") or packing,
        targets=group.names("targets"),
        activation_bits=inputs.count("num_bits"),
        act_order=act_order if isinstance(act_order, str) else "",
    )


def _group_size(table: Table) -> int | None:
    """None for "one scale a channel", which dialects write as -1 or leave out."""
    size = table.count("group_size", "q_group_size", least=-1)
    return size if size and size > 0 else None


def _awq(raw: Table, method: str) -> Quantization:
    zero_point = raw.flag("zero_point")
    symmetric = None if zero_point is None else not zero_point
    group = _one(raw.count("bits", "w_bit"), "int", _group_size(raw), symmetric)
    return _joined(QuantFormat.AWQ, (group,), raw, method, raw.text("version"), raw.names("modules_to_not_convert"))


def _gptq(raw: Table, method: str) -> Quantization:
    order = "group" if raw.flag("desc_act") else ""
    group = _one(raw.count("bits"), "int", _group_size(raw), raw.flag("sym"), order)
    dynamic = raw.table("dynamic").values
    ignored = tuple(str(rule) for rule in dynamic if str(rule).startswith("-:"))
    return _joined(QuantFormat.GPTQ, (group,), raw, method, raw.text("checkpoint_format"), ignored)


def _auto_round(raw: Table, method: str) -> Quantization:
    group = _one(raw.count("bits"), "int", _group_size(raw), raw.flag("sym"))
    extra = raw.table("extra_config")
    ignored = tuple(name for name in extra.values if (extra.table(name).count("bits") or 0) >= 16)
    return _joined(QuantFormat.AUTOROUND, (group,), raw, method, raw.text("packing_format"), ignored)


def _fp8(raw: Table, method: str) -> Quantization:
    block = raw.counts("weight_block_size")
    group = _one(8, "float", block[-1] if block else None, True, strategy="block" if block else "tensor")
    ignored = raw.names("modules_to_not_convert", "ignored_layers")
    return _joined(QuantFormat.FP8, (group,), raw, method, raw.text("fmt"), ignored)


def _modelopt(raw: Table, method: str) -> Quantization:
    algorithm = raw.text("quant_algo").upper()
    ignored = raw.names("ignore", "exclude_modules")
    if algorithm == "FP8":
        return _joined(QuantFormat.FP8, (_one(8, "float", None, True),), raw, method, algorithm, ignored)
    if raw.values.get("config_groups"):
        groups = tuple(_group(raw, name, algorithm) for name in sorted(raw.table("config_groups").values))
        kind = QuantFormat.NVFP4 if any(group.bits == 4 for group in groups) else QuantFormat.FP8
        return _joined(kind, groups, raw, method, algorithm, ignored)
    if algorithm.startswith(("NVFP4", "W4A16_NVFP4")) or "FP4" in method.upper():
        group = _one(4, "float", raw.count("group_size") or 16, True, strategy="tensor_group")
        return _joined(QuantFormat.NVFP4, (group,), raw, method, algorithm or "NVFP4", ignored)
    return _joined(QuantFormat.OTHER, (), raw, method, algorithm, ignored)


def _bitsandbytes(raw: Table, method: str) -> Quantization:
    bits = 4 if raw.flag("load_in_4bit") or raw.flag("_load_in_4bit") else 8
    group = _one(bits, "float" if bits == 4 else "int", None, None)
    ignored = raw.names("llm_int8_skip_modules")
    return _joined(QuantFormat.BITSANDBYTES, (group,), raw, method, raw.text("bnb_4bit_quant_type"), ignored)


def _gguf(raw: Table, method: str) -> Quantization:
    return Quantization(QuantFormat.GGUF, method=method, raw=dict(raw.values))


def _other(raw: Table, method: str) -> Quantization:
    ignored = raw.names("modules_to_not_convert") if isinstance(raw.values.get("modules_to_not_convert"), list) else ()
    return Quantization(QuantFormat.OTHER, packing=method, ignore=ignored, method=method, raw=dict(raw.values))


def _one(
    bits: int | None, kind: str, size: int | None, symmetric: bool | None, order: str = "", strategy: str = ""
) -> QuantGroup:
    strategy = strategy or ("group" if size else "channel")
    return QuantGroup("all", bits, kind, strategy, size, symmetric, targets=("Linear",), act_order=order)


def _joined(
    dialect: QuantFormat, groups: tuple[QuantGroup, ...], raw: Table, method: str, packing: str, ignore: tuple[str, ...]
) -> Quantization:
    """Groups as one: a property in which they differ is None."""
    bits = {group.bits for group in groups}
    sizes = {group.group_size for group in groups}
    symmetric = {group.symmetric for group in groups}
    return Quantization(
        format=dialect,
        bits=bits.pop() if len(bits) == 1 else None,
        group_size=sizes.pop() if len(sizes) == 1 else None,
        symmetric=symmetric.pop() if len(symmetric) == 1 else None,
        packing=packing,
        targets=tuple(dict.fromkeys(target for group in groups for target in group.targets)),
        ignore=ignore,
        groups=groups,
        method=method,
        raw=dict(raw.values),
    )


_READERS: dict[str, Callable[[Table, str], Quantization]] = {
    "compressed-tensors": _compressed_tensors,
    "compressed_tensors": _compressed_tensors,
    "awq": _awq,
    "auto_awq": _awq,
    "gptq": _gptq,
    "auto_gptq": _gptq,
    "auto-round": _auto_round,
    "auto_round": _auto_round,
    "intel/auto-round": _auto_round,
    "inc": _auto_round,
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "modelopt": _modelopt,
    "bitsandbytes": _bitsandbytes,
    "gguf": _gguf,
}
