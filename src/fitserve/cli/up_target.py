"""What `up` is asked for: a model and a name, from what was typed and from what was asked for before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitserve.errors import NotFound, SettingsError
from fitserve.text import tr

DEMO = "demo"


@dataclass(frozen=True)
class Wishes:
    """All that a person said. `options` holds the plan's options that were really given."""

    name: str
    model: str  # a folder, or "demo"
    options: Mapping[str, object]
    passthrough: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int | None = None  # None: 8000, or the next free one
    page: bool = True
    page_port: int | None = None
    engine_python: str = ""

    def table(self) -> dict[str, object]:
        """As it is frozen with the deployment, to start it again and to see whether a later `up` asks for the same."""
        options = {name: list(value) if isinstance(value, tuple) else value for name, value in self.options.items()}
        return {
            "model": self.model,
            "options": options,
            "passthrough": list(self.passthrough),
            "host": self.host,
            "port": self.port,
            "page": self.page,
            "page_port": self.page_port,
            "engine_python": self.engine_python,
        }


def wishes_again(name: str, table: Mapping[str, object]) -> Wishes:
    """What was asked for before, from a deployment's file. Raises ValueError where that says nothing."""
    try:
        known: dict[str, Any] = dict(table)
        known["passthrough"] = tuple(known["passthrough"])
        return Wishes(name=name, **known)
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def target_name(model: str, name: str) -> tuple[str, str]:
    """(name, model) from `up MODEL --name NAME`. The model is "" where MODEL is the name of a deployment.

    Without a MODEL it is the only deployment there is. Raises SettingsError and NotFound.
    """
    from fitserve.run.registry import is_name, name_for, names

    if name and not is_name(name):
        raise SettingsError(tr("run.name_invalid", name=name), hint=f"fitserve up … --name {name_for(name)}")
    known = names()
    if not model:
        return _only(known)
    is_path = "/" in model or Path(model).expanduser().is_dir()
    if model == DEMO and not is_path:
        return name or DEMO, DEMO
    if model in known and not is_path:
        return model, ""
    return name or name_for(Path(model).expanduser().resolve().name), str(Path(model).expanduser().absolute())


def _only(known: list[str]) -> tuple[str, str]:
    if len(known) == 1:
        return known[0], ""
    if known:
        raise SettingsError(tr("run.which_one"), evidence=", ".join(known), hint=f"fitserve up {known[0]}")
    raise SettingsError(tr("run.no_model_named"), hint="fitserve up demo")


def model_folder(model: str) -> str:
    """The folder to serve. Raises NotFound where the demo model is not part of this installation."""
    if model != DEMO:
        return model
    from fitserve.demo import model_dir

    folder = model_dir()
    if not (folder / "config.json").is_file():
        raise NotFound(tr("run.demo_missing"), evidence=str(folder), hint="fitserve up MODEL_FOLDER")
    return str(folder)
