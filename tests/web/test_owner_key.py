"""The owner's key on the disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fitserve.errors import OperationFailed
from fitserve.web.owner_key import key_path, owner_key


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_it_is_made_once_and_is_the_owners_alone() -> None:
    with ThreadPoolExecutor(8) as callers:
        keys = set(callers.map(lambda _: owner_key(), range(8)))
    assert keys == {owner_key()}
    assert len(owner_key()) == 32
    assert key_path().stat().st_mode & 0o777 == 0o600
    assert [path.name for path in key_path().parent.iterdir()] == ["owner.key"]


def test_a_file_that_others_could_read_is_closed() -> None:
    owner_key()
    key_path().chmod(0o644)
    owner_key()
    assert key_path().stat().st_mode & 0o777 == 0o600


def test_a_place_that_takes_no_key() -> None:
    key_path().mkdir()
    with pytest.raises(OperationFailed) as caught:
        owner_key()
    assert "owner.key" in caught.value.evidence
