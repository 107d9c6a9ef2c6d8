"""The ends of what is allowed: the largest picture that is not shrunk, and a prompt that fills the window."""

from __future__ import annotations

import math
import time

from fitserve.chat.models import served_models
from fitserve.chat.said import NoAnswer
from fitserve.facts.model import Vision
from fitserve.plan.plan import Check, CheckState
from fitserve.text import tr
from fitserve.verify.pictures import plain
from fitserve.verify.questions import answered
from fitserve.verify.service import Service, pictured
from fitserve.verify.subject import Subject

_ROOM = 128  # tokens for the question and the template around a picture
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SMALL, _LARGE = 64, 192  # words of the two prompts that tell how many tokens a word takes
_NEAR = 4  # tokens from the end that count as full
_TRIES = 4


async def largest_image(subject: Subject, service: Service) -> Check:
    """The largest square within the processor's limit and the window."""
    pixels, vision = subject.largest_pixels, subject.vision
    if pixels is None or vision is None:
        return Check("", CheckState.UNKNOWN, tr("verify.largest_unknown"))
    side = largest_side(pixels, vision, await _window(subject, service))
    said = await service.ask(pictured(tr("verify.ask_picture"), [plain((side, side), int(time.time()))]), 32)
    found = answered(said)
    if found.state is not CheckState.OK:
        return found
    tokens = vision.tokens(side, side)
    if said.prompt_tokens is not None and said.prompt_tokens < tokens:
        evidence = f"prompt_tokens {said.prompt_tokens}"
        return Check("", CheckState.WARN, tr("verify.largest_shrunk", side=side, tokens=f"{tokens:,}"), evidence)
    return Check("", CheckState.OK, tr("verify.largest_taken", side=side, tokens=f"{tokens:,}"))


def largest_side(pixels: int, vision: Vision, window: int | None) -> int:
    """Pixels a side: whole cells of the vision tower, and room for a question in the window."""
    cell = vision.patch * vision.merge
    cells = max(1, math.isqrt(pixels) // cell)
    if window is not None:
        cells = min(cells, max(1, math.isqrt(max(1, window - _ROOM))))
    return cells * cell


async def _window(subject: Subject, service: Service) -> int | None:
    planned = subject.settings.get("max_model_len")
    if isinstance(planned, int):
        return planned
    found = await served_models(service.endpoint)
    return next((model.max_model_len for model in found if model.name == service.endpoint.model), None)


async def longest_prompt(subject: Subject, service: Service) -> Check:
    """A prompt up to the last tokens of the window, with one token of answer."""
    window = await _window(subject, service)
    if window is None:
        return Check("", CheckState.UNKNOWN, tr("verify.window_unknown"))
    small, large = [await _tokens(service, words) for words in (_SMALL, _LARGE)]
    if small is None or large is None or large <= small:
        return Check("", CheckState.UNKNOWN, tr("verify.tokens_uncounted"))
    each = (large - small) / (_LARGE - _SMALL)
    words = math.floor((window - 1 - small) / each) + _SMALL
    return await _filled(service, window, words, each)


async def _filled(service: Service, window: int, words: int, each: float) -> Check:
    """Come to the end from either side: too long is refused in words, too short is filled up."""
    best = 0
    for _ in range(_TRIES):
        try:
            tokens = await _tokens(service, words)
        except NoAnswer as error:
            if error.code != "endpoint_too_long":
                raise
            words -= max(1, round(_NEAR / each / 2))
            continue
        best = max(best, tokens or 0)
        if window - 1 - best <= _NEAR:
            break
        words += max(1, math.floor((window - 1 - best) / each))
    figures = {"tokens": f"{best:,}", "window": f"{window:,}"}
    if not best:
        return Check("", CheckState.FAIL, tr("verify.window_refused", **figures))
    state = CheckState.OK if window - 1 - best <= _NEAR else CheckState.WARN
    return Check("", state, tr("verify.window_filled", **figures))


async def _tokens(service: Service, words: int) -> int | None:
    """The server's count of a prompt of so many words."""
    text = " ".join(_WORDS[number % len(_WORDS)] for number in range(words))
    return (await service.ask(text, 1)).prompt_tokens
