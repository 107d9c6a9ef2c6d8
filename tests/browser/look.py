"""How readers have set up their browsers. In a file of its own: pytest loads a conftest twice, and two would differ."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Look:
    """How a reader has set up their browser."""

    locale: str = "en-GB"
    theme: str = "light"
    width: int = 1100
    height: int = 800

    @property
    def language(self) -> str:
        return self.locale[:2]

    def __str__(self) -> str:
        return f"{self.language}-{self.theme}-{self.width}"


DESK = Look()
PHONE = Look("zh-CN", "dark", 390, 844)
both_looks = pytest.mark.parametrize("look", [DESK, PHONE], ids=str)
