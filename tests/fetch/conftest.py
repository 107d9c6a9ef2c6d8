"""A published model on a look-alike of the hubs, and caches that nobody else uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "facts"))

from hub_model import COMMIT, published
from hub_twin import Twin, running


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, no token and no cache of this machine."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "MODELSCOPE", "TRANSFORMERS_"))]:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "HF_HOME", "MODELSCOPE_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("FITSERVE_LANG", "en")


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Twin]:
    """Both hubs at one address."""
    with running(Twin(published(), sums=True, commit=COMMIT)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.url)
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", one.url)
        yield one
