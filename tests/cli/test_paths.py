"""fitserve's own folders: private, ours, and told in a sentence where they can't be had."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fitserve import paths
from fitserve.cli.app import app
from fitserve.cli.failure import told
from fitserve.cli.plan_machine import own_figures
from fitserve.errors import FitserveError, SettingsError

FOLDERS = {
    "XDG_STATE_HOME": paths.state_dir,
    "XDG_DATA_HOME": paths.data_dir,
    "XDG_CACHE_HOME": paths.cache_dir,
}


@pytest.mark.parametrize("variable", FOLDERS)
def test_a_place_that_takes_no_folder_is_named(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    monkeypatch.setenv(variable, str(place))
    make: Callable[[], Path] = FOLDERS[variable]
    with pytest.raises(FitserveError, match=str(place)) as failed:
        make()
    assert (failed.value.code, failed.value.exit_code) == ("state_unwritable", 1)
    assert variable in failed.value.hint
    assert isinstance(failed.value, OSError)  # a cache that can't be written is only slower


def test_a_verb_tells_it_and_a_plan_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(place))
    assert told(app, ["--lang", "en", "status"]) == 1
    said = capsys.readouterr().err
    assert "bug" not in said
    assert "XDG_STATE_HOME=" in said
    assert own_figures() == ()


def test_an_open_folder_of_ours_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "fitserve").mkdir()
    (tmp_path / "fitserve").chmod(0o755)
    assert paths.state_dir().stat().st_mode & 0o777 == 0o700


def test_a_link_in_a_shared_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    place = paths.runtime_dir()
    place.rmdir()
    place.symlink_to(tmp_path)
    try:
        with pytest.raises(FitserveError, match=str(place)):
            paths.runtime_dir()
    finally:
        place.unlink()


def test_a_settings_file_behind_a_closed_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(SettingsError, match="config"):
        paths.config_file()
