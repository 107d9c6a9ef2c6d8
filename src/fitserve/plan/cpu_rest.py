"""What a CPU engine takes besides weights and cache: measured on vLLM 0.32, x86 with AVX-512, two cores.

Measured at «ready» with a model of 12 MB, shared pages counted once (Pss): API server 0.56 GiB, engine core 0.53 GiB,
each rank 0.54 GiB besides its cache (the same with one rank and with two); compiled, a rank keeps 0.2 GiB more, and the
compiler's own processes come on top while it works.
"""

from __future__ import annotations

from fitserve.facts.model import ModelFacts
from fitserve.plan.ledger import Interval, largest
from fitserve.plan.settings import Settings
from fitserve.units import GIB, MIB

_API_AND_CORE = Interval(int(0.8 * GIB), int(1.05 * GIB), int(1.5 * GIB))
_RANK = Interval(int(0.4 * GIB), int(0.55 * GIB), int(0.9 * GIB))
_COMPILER = Interval(int(0.1 * GIB), int(0.3 * GIB), int(1.2 * GIB))
_COPIES = 6  # of a step's widest rows that live at once: gate, up, product, residual, norms


def processes(settings: Settings) -> Interval:
    """Python, torch and vLLM of one rank, and its share of the API server and the engine core."""
    shared = _API_AND_CORE if settings.enforce_eager else _API_AND_CORE + _COMPILER
    return _RANK + shared.scaled(1 / settings.tensor_parallel_size)


def peak(model: ModelFacts, settings: Settings) -> Interval:
    """The largest of the passes: the language model on a full step, the sampler, the vision tower on one picture."""
    return largest([_language(model, settings), _sampler(model, settings), _vision(model, settings)])


def _language(model: ModelFacts, settings: Settings) -> Interval:
    width = 2 * (model.hidden or 0) + 2 * max(model.intermediate or 0, _expert_width(model))
    step = settings.max_num_batched_tokens * width * 2
    return Interval(step, _COPIES // 2 * step, _COPIES * step + 64 * MIB)


def _expert_width(model: ModelFacts) -> int:
    return model.experts.width * model.experts.per_token if model.experts else 0


def _sampler(model: ModelFacts, settings: Settings) -> Interval:
    """Logits in 16 bit and float32, and the sorted copy of top-p."""
    rows = min(settings.max_num_seqs, settings.max_num_batched_tokens) * (model.vocab or 0)
    return Interval(rows * 6, rows * 10, rows * 22)


def _vision(model: ModelFacts, settings: Settings) -> Interval:
    """One picture of the largest size. The scores are quadratic in the patches where attention is not fused."""
    vision = model.vision
    if vision is None or settings.language_model_only or vision.max_pixels is None:
        return Interval(0, 0, 0)
    patches = vision.max_pixels // vision.patch**2
    rows = patches * (vision.hidden * 8 + vision.intermediate * 2) * 2
    scores = max(1, vision.heads // settings.tensor_parallel_size) * patches**2 * 4
    return Interval(rows // 4, rows, rows + min(scores, 16 * GIB))
