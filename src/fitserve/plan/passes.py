"""Memory that comes and goes: the passes of the profiling run, as formulas over the model's shape. Bytes per rank.

The profiling run goes through the vision tower, one full step of the language model, and the sampler, one after the
other, so that the peak is the largest of them. Sources: 0.33 `v1/worker/gpu/model_runner.py` `profile_run`,
`v1/worker/gpu_model_runner.py`, `layers/fused_moe/experts/marlin_moe.py`, `v1/core/encoder_cache_manager.py`.
"""

from __future__ import annotations

from fitserve.facts.families import FAMILIES
from fitserve.facts.model import LayerKind, ModelFacts, Vision
from fitserve.facts.picture_rule import PictureRule
from fitserve.plan.kv import ceil_div
from fitserve.plan.settings import Limit, Settings

_HALF = 2  # bytes of a 16-bit value
DEFAULT_PIXELS = 16_777_216  # Qwen's processors; where a folder says nothing


def picture_pixels(vision: Vision, settings: Settings) -> int:
    """The largest picture that the processor lets through: a cap in --mm-processor-kwargs, else the model's own."""
    asked = settings.mm_processor_kwargs.get("max_pixels")
    size = settings.mm_processor_kwargs.get("size")
    if asked is None and isinstance(size, dict):
        asked = size.get("longest_edge") or size.get("max_pixels")
    own = vision.max_pixels or DEFAULT_PIXELS
    return asked if isinstance(asked, int) and asked > 0 else own


def sees(model: ModelFacts, settings: Settings) -> bool:
    """Whether the vision tower is loaded and profiled: not with --language-model-only or when every limit is 0."""
    if model.vision is None or settings.language_model_only:
        return False
    limits = settings.limit_mm_per_prompt
    return not limits or any(_count(limits.get(kind, 1)) > 0 for kind in ("image", "video"))


def _count(limit: Limit) -> int:
    found = limit.get("count", 1) if isinstance(limit, dict) else limit
    return found if isinstance(found, int) else 1


def picture_tokens(vision: Vision, settings: Settings) -> int:
    """Tokens of the largest picture: 16,384 for Qwen3-VL's and Qwen3.5's defaults."""
    return max(1, picture_pixels(vision, settings) // (vision.patch * vision.merge) ** 2)


def pictures_at_once(vision: Vision, settings: Settings) -> int:
    """How many of the largest pictures are profiled in one pass: what a step takes, if so many may be asked for.

    0.22 `multimodal/encoder_budget.py` `_get_max_items`. 14 for the demo model, as its log on an H200 says.
    """
    tokens, limit = picture_tokens(vision, settings), settings.limit_mm_per_prompt.get("image", 1)
    by_prompts = settings.max_num_seqs * max(1, min(_count(limit), settings.max_model_len // tokens))
    return max(1, min(settings.max_num_batched_tokens // tokens, by_prompts))


def picture_rule(model: ModelFacts, settings: Settings) -> PictureRule | None:
    """How the processor sizes a picture under these settings; None for a family whose rule is another, or blind."""
    vision, family = model.vision, FAMILIES.get(model.architecture)
    if vision is None or family is None or family.image_limits is None or not sees(model, settings):
        return None
    least = settings.mm_processor_kwargs.get("min_pixels")
    least = least if isinstance(least, int) else (vision.min_pixels or family.image_limits[0])
    return PictureRule(vision.patch * vision.merge, least, picture_pixels(vision, settings))


def vision_bytes(model: ModelFacts, settings: Settings) -> int:
    """Pictures through the tower with fused attention: pixels, copies of the stream, and QKV or the MLP.

    Measured for Qwen3.5's tower on one rank and on each of two (docs/measured.md): 1.73 and 1.30 GiB; computed 1.73 and
    1.31: five copies of the stream, which every rank has whole, and QKV before and after the rotation, which is split.
    """
    vision = model.vision
    if vision is None or not sees(model, settings):
        return 0
    patches = picture_pixels(vision, settings) // vision.patch**2 * pictures_at_once(vision, settings)
    split = vision.heads % settings.tensor_parallel_size == 0 and settings.mm_encoder_tp_mode == "weights"
    ranks = settings.tensor_parallel_size if split else 1
    pixels = 3 * vision.temporal_patch * vision.patch**2 * _HALF
    stream = vision.hidden * _HALF
    attention = 5 * stream + 6 * stream // ranks
    mlp = 3 * stream + 2 * vision.intermediate * _HALF // ranks
    return patches * (pixels + max(attention, mlp))


def encoder_cache_bytes(model: ModelFacts, settings: Settings) -> int:
    """Outputs of the tower kept for the language model: max(step, largest picture) tokens."""
    vision = model.vision
    if vision is None or not sees(model, settings):
        return 0
    tokens = max(settings.max_num_batched_tokens, picture_tokens(vision, settings))
    return tokens * vision.out_hidden * (1 + len(vision.deepstack)) * _HALF


def language_bytes(model: ModelFacts, settings: Settings) -> int:
    """One full step: the residual stream and the widest layer. Attention and the GDN core do not run in profiling."""
    ranks = settings.tensor_parallel_size
    widths = [2 * (model.intermediate or 0) // ranks if not model.experts else 2 * model.experts.shared_width // ranks]
    if model.attention:
        queries = model.attention.query_heads * model.attention.head_dim * (2 if model.attention.output_gate else 1)
        widths.append((queries + 2 * model.attention.kv_heads * model.attention.head_dim) // ranks)
    if model.linear_attention:
        net = model.linear_attention
        widths.append((2 * net.key_heads * net.key_dim + 2 * net.value_heads * net.value_dim) // ranks)
    return settings.max_num_batched_tokens * (6 * (model.hidden or 0) + 2 * max(widths)) * _HALF


def sampler_bytes(model: ModelFacts, settings: Settings) -> int:
    """Logits of one step: the rank's part in 16 bit, the gathered whole in 16 bit, the copy in float32."""
    rows = min(settings.max_num_seqs, settings.max_num_batched_tokens)
    return rows * (model.vocab or 0) * (_HALF + 4) + rows * (model.vocab or 0) * _HALF // settings.tensor_parallel_size


def compile_bytes(model: ModelFacts, settings: Settings) -> int:
    """What a cold compile takes for a while: a second embedding table of this rank.

    Seen in public runs of 0.19 to 0.30 on text-only starts: the profiled peak is the embedding table's size, whatever
    the model (27B 2.37, 9B 1.89, 32B 1.45, 35B-A3B 0.95 GiB), and on a warm compile cache it is not there. Text models
    with tied embeddings showed it twice (Phi-4-mini 2.29, Llama-3.2-3B 1.47 GiB).
    """
    if settings.enforce_eager:
        return 0
    copies = 2 if model.tied_embeddings and model.linear_attention is None and model.vision is None else 1
    table = ceil_div(model.vocab or 0, 64) * 64 * (model.hidden or 0) * _HALF
    return copies * table // settings.tensor_parallel_size


def workspace_bytes(model: ModelFacts, settings: Settings) -> int:
    """The experts' two buffers, kept: M*topk*max(N,K) and M*topk*max(2N,K); N = width of a rank, K = hidden.

    64 KiB a token for the lead model, whatever the ranks.
    """
    experts = model.experts
    if experts is None or not model.hidden:
        return 0
    width = experts.width if settings.enable_expert_parallel else ceil_div(experts.width, settings.tensor_parallel_size)
    row = experts.per_token * (max(width, model.hidden) + max(2 * width, model.hidden)) * _HALF
    return settings.max_num_batched_tokens * row


def runner_bytes(model: ModelFacts, settings: Settings, runner: int) -> int:
    """Tables of the model runner. V2 keeps a counter for each sequence and vocabulary entry; both keep input rows."""
    inputs = settings.max_num_batched_tokens * (model.hidden or 0) * _HALF if model.vision else 0
    if runner == 1:
        return inputs
    seqs, vocab = settings.max_num_seqs, model.vocab or 0
    return inputs + seqs * vocab * 4 + 2 * seqs * ceil_div(vocab, 32) * 4 + 3 * seqs * 1024 * 4


def rope_bytes(model: ModelFacts, mrope_factor: int) -> int:
    """The table of rotations: positions * rotary dimension * 2 bytes, several times as long for pictures' positions."""
    if not model.max_positions or not model.rotary_dim:
        return 0
    factor = mrope_factor if model.vision or LayerKind.LINEAR_ATTENTION in model.layers else 1
    return model.max_positions * factor * model.rotary_dim * 2
