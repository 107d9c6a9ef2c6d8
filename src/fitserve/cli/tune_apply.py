"""What was proved better, written where the next `up NAME` reads it, with a way back."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fitserve.errors import NotFound, OperationFailed
from fitserve.text import tr

if TYPE_CHECKING:
    from pathlib import Path


def apply_setting(name: str, setting: str) -> bool:
    """Make the setting part of what was typed for this deployment. False where there is no such deployment yet.

    What runs is not touched. Raises OperationFailed.
    """
    from fitserve.cli.compare_settings import merged, parse_setting
    from fitserve.run.registry import load, save

    deployment = load(name)
    if deployment is None:
        return False
    wishes = dict(deployment.wishes)
    for part in ("typed", "values"):
        table: Any = wishes.get(part)
        wishes[part] = merged(dict(table) if isinstance(table, dict) else {}, parse_setting(setting))
    try:
        if not _kept(name).exists():  # applied twice: the way back leads to the beginning
            shutil.copy2(_file(name), _kept(name))
        save(replace(deployment, wishes=wishes))
    except OSError as error:
        raise OperationFailed(tr("run.state_unwritable"), evidence=f"{error.filename}: {error.strerror}") from error
    return True


def taken_back(name: str) -> None:
    """The deployment's file as it was before. Raises NotFound, OperationFailed."""
    from fitserve.run.registry import is_name

    if not is_name(name) or not _kept(name).exists():
        raise NotFound(tr("measure.nothing_applied", name=name), hint="fitserve status")
    try:
        _kept(name).replace(_file(name))
    except OSError as error:
        raise OperationFailed(tr("run.state_unwritable"), evidence=f"{error.filename}: {error.strerror}") from error


def _file(name: str) -> Path:
    from fitserve.run.deployment import deployment_dir

    return deployment_dir(name) / "deployment.json"


def _kept(name: str) -> Path:
    return _file(name).with_name("deployment.before-tune.json")
