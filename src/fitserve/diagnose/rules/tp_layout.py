"""The model can't be split over that many cards, or the cards are not there.

Sees: «Total number of attention heads (H) must be divisible by tensor parallel size (T)», «World size (N) is larger
than the number of available GPUs», «invalid device ordinal», `divide()` failing on a dimension, more ranks than
experts.
Why: tensor parallelism splits heads, so T must divide the query heads; each rank needs a card of its own that the
process can see (CUDA_VISIBLE_DEVICES, a container's --gpus).
Disproved by: a group size or a kernel tile in the sentence (then the quantized shard is the matter).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "tp_layout"


def judge(case: Case) -> Finding | None:
    cards = early(case, "too_few_cards", "too_few_cards_old")
    heads = early(case, "heads")
    other = early(case, "divide", "experts", "ordinal", "assert_split", "ray_cards")
    if heads is not None:
        return finding(
            case, CAUSE, Stage.CONFIG, [heads], _by_heads(int(heads.groups[0] or 1), int(heads.groups[1] or 1))
        )
    if cards is not None:
        found = int(next((group for group in reversed(cards.groups) if group), "1") or 1)
        return finding(
            case, CAUSE, Stage.CONFIG, [cards], [_fewer(max(1, found)), step("visible_cards")], key="tp_too_few_cards"
        )
    if other is not None and not early(case, "not_layout"):
        stage = Stage.CONFIG if other.groups == () and "ordinal" in other.text else Stage.LOAD
        return finding(
            case, CAUSE, stage, [other], [_fewer(_largest(case, other)), step("visible_cards")], key="tp_dimension"
        )
    return None


def _by_heads(heads: int, tp: int) -> list[Fix | None]:
    """The largest divisor of the heads below the asked size; pipeline stages use all cards."""
    to = max((size for size in range(1, tp) if heads % size == 0 and size & (size - 1) == 0), default=1)
    return [_fewer(to), make({"--tensor-parallel-size": 1, "--pipeline-parallel-size": tp}, "pipeline", new=tp)]


def _fewer(to: int) -> Fix:
    return make({"--tensor-parallel-size": to}, "fewer_ranks", {"tensor_parallel_size": to}, new=to)


def _largest(case: Case, seen: Hit) -> int:
    """The largest power of two that the numbers of the sentence allow; else half of what was asked."""
    numbers = [int(group) for group in seen.groups if group]
    if len(numbers) != 2:
        return max(1, case.tp // 2)
    experts = "experts" in seen.text
    size, tp = (numbers[1], numbers[0]) if experts else (numbers[0], numbers[1])
    powers = [1 << bit for bit in range(12) if 1 << bit < tp]
    return max((to for to in powers if (to <= size if experts else size % to == 0)), default=1)


RULE = Rule(
    CAUSE,
    (
        see(
            "heads",
            "divisible",
            r"(?:heads|num_key_value_heads|kv heads)\D{0,4}(\d{1,6})\)? must be divisible by "
            r"(?:the )?tensor.parallel.size \(?(\d{1,5})",
        ),
        see(
            "too_few_cards",
            "gpus visible devices gpu local_world_size bounds",
            r"World size \((\d{1,5})\) is larger than the number of available GPUs \((\d{1,5})\)|"
            r"[Tt]ensor parallel size \((\d{1,5})\) (?:exceeds|is larger than) .{0,20}available GPUs \((\d{1,5})\)|"
            r"exceeds the (?:total )?number of available (?:GPUs|devices)|"
            r"local_world_size \(\d{1,5}\) (?:must be less than or equal to the number of visible "
            r"devices|exceeds) ?\(?(\d{1,5})?|"
            r"local rank \d{1,5} is out of bounds(?: for (\d{1,5}) devices)?",
        ),
        see("too_few_cards_old", "count", r"(?:less than|than) max local gpu count \((\d{1,5})\)"),
        see("ordinal", "ordinal", r"invalid device ordinal"),
        see("divide", "divisible", r"(?:AssertionError: |^)(\d{1,9}) is not divisible by (\d{1,5})\b"),
        see(
            "assert_split",
            "assert",
            r"assert .{0,60}% ?(?:self\.)?(?:tp_size|tensor_\w{0,20}size|world_size) == 0",
        ),
        see(
            "ray_cards",
            "placement resource",
            r"placement group requesting .{0,80}GPU|fulfill resource request .{0,40}'GPU'",
        ),
        see(
            "experts",
            "experts",
            r"Tensor parallel size (\d{1,5}) is greater than the number of experts\D{0,4}(\d{1,6})?",
        ),
        see(
            "not_layout",
            "group_size min_thread_k min_thread_n block_n block_k",
            r"is not divisible by .{0,60}(?:group_size|min_thread_[kn]|block_[nk])",
        ),
    ),
    judge,
)
