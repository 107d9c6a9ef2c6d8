"""One request is larger than the service allows, or the service is asked for more than the model was made for.

Sees: «longer than the maximum model length of», «At most N image(s) may be provided», «exceeds the pre-allocated
encoder cache size», «maximum context length is», «too long to fit into the model».
Why: a picture costs tokens by its pixels (a 4K photo: over 8,000), and `max_pixels` inside a message may be ignored;
the encoder's cache holds max(max_num_batched_tokens, the largest item). At the start: «greater than the derived
max_model_len» (beyond the positions that the model learned), a picture larger than a step that must hold it whole.
Disproved by: the same request passing with a smaller picture (then nothing is wrong with the text).
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix, Severity
from fitserve.diagnose.fixes import (
    longer_length,
    make,
    more_batched_tokens,
    shorter_length,
    smaller_images,
    step,
)
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import early, finding, first
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "request_too_large"


def judge(case: Case) -> Finding | None:
    return _at_start(case) or _at_request(case)


def _at_start(case: Case) -> Finding | None:
    above = early(case, "length_above")
    if above is not None:
        length = int(above.groups[1] or 0)
        fix = shorter_length(case, length, "length_of_model", {"max_model_len": length})
        return finding(case, CAUSE, Stage.CONFIG, [above], [fix, step("longer_rope")], key="request_above_model")
    item = early(case, "step_below_item")
    if item is None:
        return None
    fixes = [more_batched_tokens(int(item.groups[0] or 0), "whole_picture_step"), smaller_images(case)]
    return finding(case, CAUSE, Stage.CONFIG, [item], fixes, key="request_item_step")


def _at_request(case: Case) -> Finding | None:
    cache = _seen(case, "encoder_cache")
    if cache is not None:
        return _say(case, cache, _cache_fixes(case, cache), "request_encoder_cache")
    count = _seen(case, "too_many_items")
    if count is not None:
        return _say(case, count, [_limit(count), step("fewer_pictures")], "request_items")
    long = _seen(case, "prompt_long", "context_long")
    return None if long is None else _say(case, long, _length_fixes(case, long), "request_length")


def _seen(case: Case, *keys: str) -> Hit | None:
    """The service's own line, else what a client was told."""
    return first(case, *keys) or next((hit for key in keys for hit in case.noted(key)), None)


def _say(case: Case, seen: Hit, fixes: list[Fix | None], key: str) -> Finding:
    return finding(case, CAUSE, Stage.CLIENT, [seen], fixes, severity=Severity.WARN, key=key)


def _cache_fixes(case: Case, seen: Hit) -> list[Fix | None]:
    tokens = int(seen.groups[0] or 0)
    step_size = 1 << max(11, (tokens - 1).bit_length())
    return [
        more_batched_tokens(step_size, "whole_picture_step"),
        smaller_images(case),
        step("shrink_before_sending"),
    ]


def _limit(seen: Hit) -> Fix:
    numbers = [int(group) for group in seen.groups if group and group.isdigit()]
    kind = next((group for group in seen.groups if group and group.isalpha()), "image")
    allowed = numbers[0] if numbers else 1
    wanted = max([allowed + 1, allowed * 8 // 5, *numbers])
    return make({"--limit-mm-per-prompt": {kind: wanted}}, "more_pictures", {"allowed": allowed})


def _length_fixes(case: Case, seen: Hit) -> list[Fix | None]:
    numbers = [int(group) for group in seen.groups if group and group.isdigit()]
    longer = longer_length(max(numbers)) if numbers else None
    pictures = "image" in seen.text or "multimodal" in seen.text or "multi-modal" in seen.text
    if pictures:
        return [smaller_images(case), longer, step("shrink_before_sending")]
    return [longer, step("shorter_prompt")]


RULE = Rule(
    CAUSE,
    (
        see(
            "length_above",
            "derived",
            r"User-specified max_model_len \((\d{1,12})\) is greater than the derived max_model_len "
            r"\(\w{1,40}=(\d{1,12})",
        ),
        see("step_below_item", "chunked", r"Chunked MM input disabled but max_tokens_per_mm_item \((\d{1,9})\)"),
        see(
            "encoder_cache",
            "encoder",
            r"item with (?:length )?(\d{1,9})(?: embedding tokens)?, which exceeds the pre-allocated encoder cache",
        ),
        see(
            "too_many_items",
            "most limit items passed",
            r"At most (\d{1,6}) ([a-z]{1,12}?)\(?s?\)? may be provided|"
            r"You set ([a-z]{1,12})=(\d{1,6}) .{0,60}but passed (\d{1,6})",
        ),
        see(
            "prompt_long",
            "longer long requested pixels bomb",
            r"prompt \((?:total )?length (\d{1,12})\).{0,80}?(?:longer than the maximum model length of "
            r"(\d{1,12})|too long to fit into the model)|"
            r"plus the number of requested output tokens|decompression bomb|exceeds limit of \d{1,12} pixels",
        ),
        see(
            "context_long",
            "context max_tokens",
            r"maximum context length is (\d{1,12}) tokens(?:\. However, (?:you requested|your request has|"
            r"your prompt contains)| and your request has) \D{0,24}(\d{1,12})|max_tokens must be at least 1, got -",
        ),
    ),
    judge,
)
