"""`fitserve.toml`: settings of several deployments, each value with the place it came from.

    [defaults]                      # for every deployment
    max_num_seqs = 16
    [deployments.shop]
    model = "/models/Qwen3-VL-8B"
    max_model_len = "32K"           # spelled as the flags are

The order, the later winning: built in, the user's file, the project's file, FITSERVE_*, flags. `[deployments.NAME]`
wins over `[defaults]` of either file.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fitserve.errors import SettingsError
from fitserve.paths import config_file
from fitserve.text import tr

PROJECT_FILE = "fitserve.toml"
NOT_SETTINGS = ("as_json", "help", "lang", "name", "version")  # options that say nothing of a deployment
OF_THE_CALL = ("yes", "wait", "timeout")  # taken from a file too, but not shown among its settings


@dataclass(frozen=True)
class Origin:
    """A value as it was written, and where: a file with its table, a variable, `flag` or `default`."""

    value: object
    place: str


def deployment_values(name: str, known: Iterable[str]) -> dict[str, Origin]:
    """What the files and FITSERVE_* say of one deployment, by option name. Raises SettingsError for an unknown key."""
    keys = {*known, "model"} - {*NOT_SETTINGS}
    files = [(path, _read(path)) for path in (config_file(), Path.cwd() / PROJECT_FILE) if path.is_file()]
    values: dict[str, Origin] = {}
    for section in ("defaults", f"deployments.{name}"):
        for path, table in files:
            values |= _section(path, table, section, keys)
    return values | _variables(keys)


def known_deployments() -> tuple[str, ...]:
    """Names of the deployments that the files describe."""
    paths = [path for path in (config_file(), Path.cwd() / PROJECT_FILE) if path.is_file()]
    return tuple(dict.fromkeys(name for path in paths for name in _table(_read(path), "deployments", path)))


def filled(ctx: click.Context, name: str) -> dict[str, Any]:
    """A command's parameters, those left to their default replaced by what the files and variables say."""
    return {key: origin.value for key, origin in origins(ctx, name).items()}


def origins(ctx: click.Context, name: str) -> dict[str, Origin]:
    """Every parameter of a command with its value (converted as its flag converts it) and its place."""
    parameters = {parameter.name: parameter for parameter in ctx.command.params if parameter.name}
    written = deployment_values(name, parameters)
    result = {}
    for key, parameter in parameters.items():
        given = ctx.get_parameter_source(key) not in (ParameterSource.DEFAULT, None)
        if given or key not in written:
            result[key] = Origin(ctx.params.get(key), "flag" if given else "default")
        else:
            result[key] = Origin(_convert(ctx, parameter, written[key]), written[key].place)
    return result


def _convert(ctx: click.Context, parameter: click.Parameter, origin: Origin) -> object:
    try:
        return parameter.type_cast_value(ctx, origin.value)
    except click.BadParameter as error:
        message = tr("config.bad_value", key=parameter.name, value=origin.value)
        hint = "fitserve config show --origin"
        raise SettingsError(message, evidence=f"{origin.place}: {error.message}", hint=hint) from error


def _read(path: Path) -> dict[str, object]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(tr("config.unreadable", path=path), evidence=str(error)) from error
    _refuse_unknown(table, ("defaults", "deployments"), str(path))
    return table


def _section(path: Path, table: Mapping[str, object], section: str, keys: set[str]) -> dict[str, Origin]:
    for part in section.split(".", 1):
        table = _table(table, part, path)
    _refuse_unknown(table, keys, f"{path} [{section}]")
    return {key: Origin(value, f"{path} [{section}]") for key, value in table.items()}


def _table(table: Mapping[str, object], key: str, path: Path) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise SettingsError(tr("config.not_a_table", key=key), evidence=str(path))
    return value


def _variables(keys: set[str]) -> dict[str, Origin]:
    names = {key: f"FITSERVE_{key.upper()}" for key in keys}
    return {key: Origin(os.environ[name], f"${name}") for key, name in names.items() if name in os.environ}


def _refuse_unknown(table: Mapping[str, object], keys: Iterable[str], place: str) -> None:
    known = sorted(keys)
    listed = ", ".join(key for key in known if key not in OF_THE_CALL)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = tr("config.did_you_mean", key=near[0]) if near else tr("config.known_keys", keys=listed)
            raise SettingsError(tr("config.unknown_key", key=key), evidence=place, hint=hint)
