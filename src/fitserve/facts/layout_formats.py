"""How each dialect stores one quantized matrix: the tensors that stand in its place.

`rows` outputs, `columns` inputs. Sizes as the dialects' own writers make them: compressed-tensors 0.14
(pack_quantized, nvfp4_pack_quantized), AutoAWQ and AutoGPTQ (qweight), Qwen's and DeepSeek's block FP8
(weight_scale_inv), ModelOpt (weight_scale_2).
"""

from __future__ import annotations

from collections.abc import Callable

from fitserve.facts.model import QuantFormat, QuantGroup, Quantization

Stored = tuple[tuple[str, str, tuple[int, ...]], ...]  # parameter, dtype, shape
Store = Callable[[int, int, QuantGroup, str], Stored]


def store_for(quantization: Quantization, group: QuantGroup) -> Store | None:
    """The writer for a scheme, None where its layout is not known."""
    dialect = quantization.format
    if dialect is QuantFormat.COMPRESSED_TENSORS:
        return _COMPRESSED.get(group.packing)
    if dialect is QuantFormat.FP8:
        return _fp8_block if group.strategy == "block" else _fp8_tensor
    if dialect is QuantFormat.NVFP4:
        return _modelopt_nvfp4 if group.bits == 4 else _fp8_tensor
    return {QuantFormat.AWQ: _awq, QuantFormat.GPTQ: _gptq, QuantFormat.AUTOROUND: _auto_round}.get(dialect)


def _ceil(value: int, unit: int) -> int:
    return -(-value // unit)


def _groups(columns: int, group: QuantGroup) -> int:
    return _ceil(columns, group.group_size) if group.group_size else 1


def _pack_quantized(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:
    bits, groups = group.bits or 4, _groups(columns, group)
    stored: Stored = (
        ("weight_packed", "I32", (rows, _ceil(columns * bits, 32))),
        ("weight_scale", dtype, (rows, groups)),
        ("weight_shape", "I64", (2,)),
    )
    if group.symmetric is False:
        stored += (("weight_zero_point", "I32", (_ceil(rows * bits, 32), groups)),)
    return stored + ((("weight_g_idx", "I32", (columns,)),) if group.act_order == "group" else ())


def _int_quantized(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:
    return (("weight", "I8", (rows, columns)), ("weight_scale", dtype, (rows, _groups(columns, group))))


def _float_quantized(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:
    if group.strategy == "block":
        size = group.group_size or 128
        return (
            ("weight", "F8_E4M3", (rows, columns)),
            ("weight_scale", dtype, (_ceil(rows, size), _ceil(columns, size))),
        )
    scale = (1,) if group.strategy == "tensor" else (rows, _groups(columns, group))
    return (("weight", "F8_E4M3", (rows, columns)), ("weight_scale", dtype, scale))


def _nvfp4_pack(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:  # noqa: ARG001 - one signature
    return (
        ("weight_packed", "U8", (rows, _ceil(columns, 2))),
        ("weight_scale", "F8_E4M3", (rows, _ceil(columns, group.group_size or 16))),
        ("weight_global_scale", "F32", (1,)),
        *((("input_global_scale", "F32", (1,)),) if group.activation_bits else ()),
    )


def _modelopt_nvfp4(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:  # noqa: ARG001 - one signature
    return (
        ("weight", "U8", (rows, _ceil(columns, 2))),
        ("weight_scale", "F8_E4M3", (rows, _ceil(columns, group.group_size or 16))),
        ("weight_scale_2", "F32", ()),
        ("input_scale", "F32", ()),
    )


def _fp8_block(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:
    size = group.group_size or 128
    return (
        ("weight", "F8_E4M3", (rows, columns)),
        ("weight_scale_inv", dtype, (_ceil(rows, size), _ceil(columns, size))),
    )


def _fp8_tensor(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:  # noqa: ARG001 - one signature
    return (("weight", "F8_E4M3", (rows, columns)), ("weight_scale", "F32", ()), ("input_scale", "F32", ()))


def _awq(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:  # noqa: ARG001 - AutoAWQ keeps F16 scales
    packed, groups = _ceil(rows * (group.bits or 4), 32), _groups(columns, group)
    return (
        ("qweight", "I32", (columns, packed)),
        ("qzeros", "I32", (groups, packed)),
        ("scales", "F16", (groups, rows)),
    )


def _auto_round(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:  # noqa: ARG001 - one signature
    bits, groups = group.bits or 4, _groups(columns, group)
    return (
        ("qweight", "I32", (_ceil(columns * bits, 32), rows)),
        ("qzeros", "I32", (groups, _ceil(rows * bits, 32))),
        ("scales", "F16", (groups, rows)),
    )


def _gptq(rows: int, columns: int, group: QuantGroup, dtype: str) -> Stored:
    return (*_auto_round(rows, columns, group, dtype), ("g_idx", "I32", (columns,)))


_COMPRESSED: dict[str, Store] = {
    "pack-quantized": _pack_quantized,
    "int-quantized": _int_quantized,
    "float-quantized": _float_quantized,
    "naive-quantized": _float_quantized,
    "nvfp4-pack-quantized": _nvfp4_pack,
}
