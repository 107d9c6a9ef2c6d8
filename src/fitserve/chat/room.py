"""How much fits: the model's window, the pictures of one question, and what its processor makes of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fitserve.chat.images import Limits
from fitserve.facts.picture_rule import PictureRule

_TURNS_WITH_PICTURES = 4  # that a window should hold: one picture takes at most this part of it
ANSWER_RESERVE = 1024  # tokens kept free for an answer, or a quarter of a small window


@dataclass(frozen=True)
class Room:
    """None is unknown: a foreign endpoint tells its window at best."""

    window: int | None = None
    pictures: int | None = None  # in one request, earlier turns' included
    rule: PictureRule | None = None
    encoder_tokens: int | None = None  # the largest picture that the engine's encoder cache takes; None: any

    @property
    def reserve(self) -> int:
        """Tokens kept for the answer."""
        return min(ANSWER_RESERVE, self.window // 4) if self.window else ANSWER_RESERVE

    @property
    def limits(self) -> Limits:
        """What a picture is shrunk to: 1024 a side, and a quarter of the window where that is less."""
        if self.window is None or self.rule is None:
            return Limits(rule=self.rule)
        share, most = self.window // _TURNS_WITH_PICTURES, self.window - self.reserve
        return Limits(tokens=share, most_tokens=min(most, self.encoder_tokens or most), rule=self.rule)


def room_of_plan(plan: Mapping[str, object]) -> Room:
    """From `plan --json`, as a deployment keeps it; what it does not say is unknown."""
    settings = _table(plan.get("settings"))
    limits = _table(settings.get("limit_mm_per_prompt"))
    images, rule = limits.get("image"), _rule(_table(plan.get("pictures")))
    count = images.get("count") if isinstance(images, dict) else images
    encoder = _encoder_tokens(_table(images), rule, _count(settings.get("max_num_batched_tokens")))
    return Room(_count(settings.get("max_model_len")), _count(count), rule, encoder)


def _encoder_tokens(images: dict[str, object], rule: PictureRule | None, step: int | None) -> int | None:
    """vLLM sizes its encoder cache for the largest picture that was announced, and for a step at least."""
    width, height = _count(images.get("width")), _count(images.get("height"))
    if rule is None or step is None or not width or not height:
        return None
    return max(step + rule.marks, rule.tokens(width, height))


def _rule(table: dict[str, object]) -> PictureRule | None:
    cell, least, most = (_count(table.get(name)) for name in ("cell", "min_pixels", "max_pixels"))
    return PictureRule(cell, least or 0, most) if cell and most else None


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
