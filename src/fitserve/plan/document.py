"""`plan --json`: one document, bytes as integers, null for what is not known."""

from __future__ import annotations

from dataclasses import asdict

from fitserve.facts.model import LayerKind, ModelFacts
from fitserve.plan.passes import picture_rule
from fitserve.plan.plan import SCHEMA_VERSION, Correction, KvPlan, Plan
from fitserve.plan.settings import Settings


def plan_document(plan: Plan) -> dict[str, object]:
    """The plan under the keys of the design's section 5."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "plan",
        "verdict": plan.verdict.value,
        "fits": plan.fits,
        "model": _model(plan.model),
        "engine": {"name": plan.engine.name, "version": plan.engine.version, "device": plan.engine.device},
        "settings": settings_document(plan.settings),
        "command": list(plan.command),
        "env": plan.env,
        "budget_bytes": plan.budget_bytes,
        "ledger": [asdict(row) | {"basis": row.basis.value} for row in plan.ledger],
        "kv": _kv(plan.kv),
        "pictures": _pictures(plan),
        "reasons": list(plan.reasons),
        "refused": [asdict(refused) for refused in plan.refused],
        "options": [asdict(option) for option in plan.options],
        "nearest": [{"settings": other.settings, "why": other.why} for other in plan.nearest],
        "checks": [{"name": c.name, "state": c.state.value, "detail": c.detail} for c in plan.checks],
        "corrected": plan.corrected and _corrected(plan.corrected),
    }


def _corrected(correction: Correction) -> dict[str, object]:
    """The command to type in place of a reviewed one; `before` and `after` are flags as they are typed."""
    return {
        "verdict": correction.plan.verdict.value,
        "settings": settings_document(correction.plan.settings),
        "command": list(correction.command),
        "env": correction.env,
        "changes": [asdict(change) for change in correction.changes],
    }


def settings_document(settings: Settings) -> dict[str, object]:
    """The settings under vLLM's names; what is not set is left out, except what the design always shows."""
    shown = {
        "tensor_parallel_size", "enforce_eager", "max_model_len", "gpu_memory_utilization", "max_num_seqs",
        "max_num_batched_tokens", "kv_cache_dtype", "enable_prefix_caching",
    }  # fmt: skip
    plain = asdict(Settings(1, False, 1, 1, 1, True))
    values = asdict(settings)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if name in shown or value != plain[name]
    }


def _kv(kv: KvPlan | None) -> dict[str, object] | None:
    return None if kv is None else asdict(kv)


def _pictures(plan: Plan) -> dict[str, int] | None:
    """How the processor sizes a picture, so that a chat can tell its tokens; None where the rule is not known."""
    rule = picture_rule(plan.model, plan.settings)
    return None if rule is None else asdict(rule)


def _model(model: ModelFacts) -> dict[str, object]:
    quantization = model.quantization
    return {
        "name": model.name,
        "source": model.source,
        "architecture": model.architecture or None,
        "layers": {kind.value: model.count(kind) for kind in LayerKind if model.count(kind)},
        "max_positions": model.max_positions,
        "vision": model.vision is not None,
        "quantization": {
            "format": quantization.format.value,
            "bits": quantization.bits,
            "group_size": quantization.group_size,
        },
        "checkpoint_bytes": model.checkpoint_bytes,
    }
