"""One cause a file. `load` gives the built-in rules and those of other packages (entry points `fitserve.rules`)."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

from fitserve.diagnose.rule import Rule

GROUP = "fitserve.rules"
BUILT_IN = (
    "bad_numerics", "checkpoint_unavailable", "cold_profile_inflation", "gguf_misuse", "gpu_memory_held", "host_ram",
    "kernel_crash", "kv_below_max_len", "mamba_blocks_below_seqs", "memory_growth", "multi_gpu_comm", "no_kv_memory",
    "oom_first_request_jit", "oom_graph_capture", "oom_graph_probe", "oom_mm_encoder_profile", "oom_profile_activation",
    "oom_runtime", "oom_weight_load", "port_in_use", "preemption_kv_pressure", "quant_format_mismatch",
    "remote_code_required", "request_too_large", "slow_mode", "toolchain_or_driver", "tp_layout",
    "tp_quant_divisibility", "unsupported_capability", "version_mismatch",
)  # fmt: skip


def load() -> tuple[Rule, ...]:
    """Every rule once, by cause; a rule of another package replaces a built-in one of its cause."""
    places = {name: f"{__name__}.{name}:RULE" for name in BUILT_IN}
    rules = [_rule(place) for place in places.values()]
    own = set(places.values())
    rules += [entry.load() for entry in entry_points(group=GROUP) if entry.value not in own]
    return tuple({rule.cause: rule for rule in rules}.values())


def _rule(place: str) -> Rule:
    module, _, name = place.partition(":")
    rule: Rule = getattr(import_module(module), name)
    return rule
