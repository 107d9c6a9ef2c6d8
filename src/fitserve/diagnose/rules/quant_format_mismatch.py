"""The quantization config, the flag, the tensor names and the kernel disagree.

Sees: «Quantization method specified in the model config (A) does not match … (B)», a number format that the method
does not take, a missing quantization config, a KeyError on a quantized tensor's name, schemes that differ inside a
fused layer, experts that must be symmetric, an act-order that is not supported.
Why: the method is read from config.json, so a flag can only contradict it; "AWQ" in a name is often
compressed-tensors inside; exporters name and fuse tensors differently from what the loader of this version expects.
Disproved by: the same checkpoint loading in another version with the same flags (then the version is the matter).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Confidence, Finding, Fix
from fitserve.diagnose.fixes import drop, make, step
from fitserve.diagnose.oom import find_oom
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding
from fitserve.observe.log.failures import Failure
from fitserve.stage import Stage

CAUSE = "quant_format_mismatch"
_PARTS = (
    "weight_zero_point|zero_point|qweight|qzeros|weight_packed|weight_scale|weight_shape|g_idx|scales|input_scale|"
    "w2_weight|w13_"
)


def judge(case: Case) -> Finding | None:
    flag = early(case, "quant_flag", "quant_dtype")
    if flag is not None:
        return finding(case, CAUSE, Stage.CONFIG, [flag], _flag_fixes(case, flag.text), key="quant_flag")
    missing = early(case, "quant_config_missing")
    if missing is not None:
        return finding(case, CAUSE, Stage.LOAD, [missing], _flag_fixes(case, missing.text), key="quant_not_quantized")
    names = early(case, "quant_names", "quant_scheme", *(["plain_name"] if case.quantized else []))
    if names is not None:
        return finding(case, CAUSE, Stage.LOAD, [names], _export_fixes(case, names.text))
    shapes = early(case, "weight_shapes")
    if shapes is not None:
        return finding(case, CAUSE, Stage.LOAD, [shapes], _export_fixes(case, ""), confidence=Confidence.MEDIUM)
    inside = next((failure for failure in case.roots if _in_quantization(failure)), None)
    if inside is not None and find_oom(case) is None and not case.served:
        return finding(case, CAUSE, Stage.LOAD, [inside], _export_fixes(case, ""), confidence=Confidence.LOW)
    return None


def _in_quantization(failure: Failure) -> bool:
    """Raised by the code that prepares quantized layers."""
    own = [frame.file for frame in failure.frames if frame.file]
    return bool(own) and "layers/quantization/" in own[-1]


def _flag_fixes(case: Case, text: str) -> list[Fix | None]:
    dropped = drop(case, "--quantization", "drop_quantization") or make({"--quantization": None}, "drop_quantization")
    dtype = make({"--dtype": "float16"}, "half_precision") if "not supported for quantization method" in text else None
    return [dropped, dtype, step("other_checkpoint") if "Cannot find the config" in text else None]


def _export_fixes(case: Case, text: str) -> list[Fix | None]:
    upgrade = step("newer_engine")
    symmetric = step("symmetric_checkpoint") if "symmetric" in text or "zero_point" in text else None
    return [upgrade, symmetric or step("other_checkpoint"), drop(case, "--quantization", "drop_quantization")]


RULE = Rule(
    CAUSE,
    (
        see(
            "quant_flag",
            "quantization",
            r"Quantization method specified in the model config \(.{0,40}\) does not match",
        ),
        see("quant_dtype", "quantization", r"is not supported for quantization method .{1,60}Supported dtypes"),
        see(
            "quant_config_missing",
            "config cannot",
            r"Cannot find the config file for \w|Cannot find any of .{0,80}quantize_config|"
            r"Cannot find .{0,40}quantization config",
        ),
        see(
            "quant_names",
            "keyerror module weights initialized",
            rf"KeyError: .{{0,200}}(?:{_PARTS})|no module or parameter named .{{0,200}}(?:{_PARTS})|"
            rf"not initialized from checkpoint.{{0,400}}(?:{_PARTS})",
        ),
        see("plain_name", "keyerror", r"KeyError: '(?:\w{1,40}\.){0,4}layers\.\d{1,4}\.[\w.]{1,100}'"),
        see(
            "quant_scheme",
            "symmetric actorder scheme schemes quantization asymmetric activation kernel weight "
            "prequant num_bits moe_backend quant_method",
            r"Only symmetric quantization is supported|WNA16MoE is not supported with actorder|"
            r"activation ordering .{0,60}no longer|All MoE projections need to have same quantization scheme|"
            r"Found a different quantization schemes|require group quantization or channelwise|"
            r"Asymmetric quantization not supported|Unknown quantization method|"
            r"No compressed-tensors compatible scheme was found|moe_backend='\w{1,30}' is not supported for|"
            r"Failed to find a kernel that can implement the WNA16|only \d-bit(?:/\d-bit)? "
            r"weight quantization is supported|"
            r"Unsupported num_bits|Prequant BitsAndBytes|assert self\.quant_method is not None",
        ),
        see(
            "weight_shapes",
            "shape size torch dimension tensor attempted",
            r"Attempted to load weight \(|loaded_weight\.shape|param_data\.shape == |exceeds dimension size \(|"
            r"size mismatch for |The size of tensor a \(\d{1,9}\) must match the size of tensor b",
        ),
    ),
    judge,
)
