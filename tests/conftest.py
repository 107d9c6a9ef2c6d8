"""Every test starts in English, whatever the machine speaks and whatever an earlier test chose."""

from __future__ import annotations

import pytest
from hypothesis import settings

from fitserve.text import choose_language

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FITSERVE_LANG", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    choose_language("auto")
