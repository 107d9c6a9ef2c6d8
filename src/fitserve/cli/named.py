"""The deployment that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fitserve.errors import NotFound, OperationFailed, SettingsError
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.run.deployment import Deployment


def one_of(name: str) -> str:
    """The name, if there is such a deployment; without one, the only one there is. Raises NotFound, SettingsError."""
    from fitserve.run.registry import names

    known = names()
    if name in known:
        return name
    if name:
        raise NotFound(tr("run.no_such", name=name), evidence=", ".join(known), hint="fitserve status")
    if len(known) == 1:
        return known[0]
    if known:
        raise SettingsError(tr("run.which_one"), evidence=", ".join(known), hint=f"fitserve … {known[0]}")
    raise NotFound(tr("run.none_yet"), hint="fitserve up demo")


def loaded(name: str) -> Deployment | None:
    """The deployment of this name; None where there is none. Raises OperationFailed where its file is broken."""
    from fitserve.run.registry import load

    try:
        return load(name)
    except ValueError as error:
        hint = f"fitserve up MODEL --name {name}"
        raise OperationFailed(tr("run.broken_file"), evidence=str(error), hint=hint) from error
