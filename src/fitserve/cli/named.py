"""The deployment that a command is about."""

from __future__ import annotations

from fitserve.errors import NotFound, SettingsError
from fitserve.text import tr


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
